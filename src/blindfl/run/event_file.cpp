#include "blindfl/run/event_file.h"

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <system_error>

#include "blindfl/base/crc32c.h"
#include "blindfl/base/error.h"
#include "blindfl/base/text.h"

namespace blindfl::run {

namespace {

// Kinds of protobuf fields.
enum class Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

constexpr std::uint32_t kEventWallTime = 1;
constexpr std::uint32_t kEventStep = 2;
constexpr std::uint32_t kEventFileVersion = 3;
constexpr std::uint32_t kEventSummary = 5;
constexpr std::uint32_t kEventSessionLog = 7;
constexpr std::uint32_t kSummaryValue = 1;
constexpr std::uint32_t kValueTag = 1;
constexpr std::uint32_t kValueSimple = 2;
constexpr std::uint32_t kSessionStatus = 1;
constexpr std::uint64_t kSessionStart = 1;

/// A protobuf message, field by field.
class Proto {
 public:
  Proto& integer(std::uint32_t field, std::uint64_t value) {
    tag(field, Wire::kVarint);
    varint(value);
    return *this;
  }
  Proto& real(std::uint32_t field, double value) {
    tag(field, Wire::kFixed64);
    sink_.write_u64(std::bit_cast<std::uint64_t>(value));
    return *this;
  }
  Proto& real(std::uint32_t field, float value) {
    tag(field, Wire::kFixed32);
    sink_.write_u32(std::bit_cast<std::uint32_t>(value));
    return *this;
  }
  Proto& bytes(std::uint32_t field, ByteView value) {
    tag(field, Wire::kBytes);
    varint(value.size());
    sink_.write(value);
    return *this;
  }
  [[nodiscard]] const Bytes& done() const { return sink_.bytes(); }

 private:
  void tag(std::uint32_t field, Wire wire) { varint(std::uint64_t{field} << 3 | static_cast<std::uint64_t>(wire)); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) sink_.write_u8(static_cast<std::uint8_t>(value | 0x80));
    sink_.write_u8(static_cast<std::uint8_t>(value));
  }

  BufferSink sink_;
};

// TFRecord's: so that a checksum of data that holds its own checksum is not a constant.
std::uint32_t masked_crc(ByteView bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xA282EAD8U;
}

float to_float(double value) {
  constexpr double kMost = std::numeric_limits<float>::max();
  if (std::abs(value) > kMost) return std::copysign(std::numeric_limits<float>::infinity(), value < 0 ? -1.0F : 1.0F);
  return static_cast<float>(value);
}

// A run may start, stop and start again within a second.
DiskFile create_event_file(const std::filesystem::path& folder, Party party, double wall_time) {
  require<InvalidArgument>(std::isfinite(wall_time) && wall_time >= 0 && wall_time < 1e15,
                           "events: the time is not one since 1970");
  const std::string name = "events.out.tfevents." + std::to_string(static_cast<std::uint64_t>(wall_time)) +
                           ".blindfl." + std::string(name_of(party));
  for (int again = 0;; ++again) {
    const std::filesystem::path path = folder / (again == 0 ? name : name + "." + std::to_string(again));
    std::error_code unreadable;
    if (!std::filesystem::exists(std::filesystem::symlink_status(path, unreadable))) {
      return DiskFile::create(path, Readers::kOwner);
    }
  }
}

}  // namespace

EventFile::EventFile(const std::filesystem::path& folder, Party party, double wall_time)
    : file_(create_event_file(folder, party, wall_time)), party_(party) {
  append(Proto().real(kEventWallTime, wall_time).bytes(kEventFileVersion, as_bytes("brain.Event:2")).done());
}

void EventFile::restart(std::uint64_t step, double wall_time) {
  Proto start;
  start.integer(kSessionStatus, kSessionStart);
  Proto event;
  event.real(kEventWallTime, wall_time).integer(kEventStep, step).bytes(kEventSessionLog, start.done());
  append(event.done());
}

void EventFile::write(std::uint64_t step, double wall_time, std::string_view set, std::span<const Measure> values) {
  Proto summary;
  for (const Measure& measure : values) {
    check_may_keep(party_, measure.name, "events");
    // Protobuf's texts must be UTF-8, and TensorBoard makes paths of these.
    const std::string tag = printable(set) + "/" + printable(measure.name);
    Proto value;
    value.bytes(kValueTag, as_bytes(tag)).real(kValueSimple, to_float(measure.value));
    summary.bytes(kSummaryValue, value.done());
  }
  Proto event;
  event.real(kEventWallTime, wall_time).integer(kEventStep, step).bytes(kEventSummary, summary.done());
  append(event.done());
}

void EventFile::append(ByteView event) {
  const Bytes length = write_to_bytes([&](ByteSink& sink) { sink.write_u64(event.size()); });
  // In one piece, so that a reader that looks on meanwhile sees whole records.
  file_.write(write_to_bytes([&](ByteSink& sink) {
    sink.write(length);
    sink.write_u32(masked_crc(length));
    sink.write(event);
    sink.write_u32(masked_crc(event));
  }));
}

}  // namespace blindfl::run
