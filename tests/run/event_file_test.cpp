#include "blindfl/run/event_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "blindfl/base/crc32c.h"
#include "blindfl/base/error.h"
#include "blindfl/base/text.h"
#include "testing/scratch_folder.h"

namespace blindfl::run::event_file_test {
namespace {

using blindfl::testing::content_of;
using blindfl::testing::mode_of;
using blindfl::testing::ScratchFolder;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Integers as they stand in a file, the lowest byte first.
std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

/// As TensorFlow's documentation writes it.
std::uint32_t masked(std::string_view bytes) {
  const std::uint32_t crc = crc32c_ways().back().of(as_bytes(bytes), 0);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

/// The messages inside the records of a file, whose checksums must be right.
std::vector<std::string> records_of(std::string_view file) {
  std::vector<std::string> records;
  while (!file.empty()) {
    EXPECT_GE(file.size(), 16U);
    const auto length = static_cast<std::size_t>(little_endian(file.substr(0, 8)));
    EXPECT_EQ(little_endian(file.substr(8, 4)), masked(file.substr(0, 8)));
    EXPECT_GE(file.size(), 16 + length);
    if (file.size() < 16 + length) break;
    records.emplace_back(file.substr(12, length));
    EXPECT_EQ(little_endian(file.substr(12 + length, 4)), masked(records.back()));
    file.remove_prefix(16 + length);
  }
  return records;
}

/// Fields of a protobuf message: number, wire type, and its integer or bytes.
struct Field {
  std::uint64_t number = 0;
  std::uint64_t wire = 0;
  std::uint64_t integer = 0;
  std::string bytes;
};

std::uint64_t take_varint(std::string_view& message) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (message.empty()) {
      ADD_FAILURE() << "a varint is cut";
      return 0;
    }
    const auto byte = static_cast<unsigned char>(message.front());
    message.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) break;
  }
  return value;
}

std::vector<Field> fields_of(std::string_view message) {
  std::vector<Field> fields;
  while (!message.empty()) {
    const std::uint64_t tag = take_varint(message);
    Field field{.number = tag >> 3, .wire = tag & 7, .integer = 0, .bytes = {}};
    if (field.wire == 0) {
      field.integer = take_varint(message);
    } else {
      const std::uint64_t size = field.wire == 1 ? 8 : (field.wire == 5 ? 4 : take_varint(message));
      EXPECT_TRUE(field.wire == 1 || field.wire == 2 || field.wire == 5) << field.wire;
      EXPECT_LE(size, message.size());
      field.bytes = message.substr(0, static_cast<std::size_t>(size));
      message.remove_prefix(std::min(message.size(), static_cast<std::size_t>(size)));
    }
    fields.push_back(field);
  }
  return fields;
}

template <class T>
T number_in(const std::string& bytes) {
  T value{};
  EXPECT_EQ(bytes.size(), sizeof value);
  std::memcpy(&value, bytes.data(), std::min(sizeof value, bytes.size()));
  return value;
}

TEST(EventFile, BeginsWithTheVersion) {
  const ScratchFolder folder;
  const EventFile file(folder.path(), Party::kB, 1731681000.25);
  EXPECT_EQ(file.path().filename(), "events.out.tfevents.1731681000.blindfl.B");
  EXPECT_EQ(mode_of(file.path()), 0600U);
  const std::string bytes = content_of(file.path());
  const std::vector<std::string> records = records_of(bytes);
  ASSERT_EQ(records.size(), 1U);
  const std::vector<Field> fields = fields_of(records.front());
  ASSERT_EQ(fields.size(), 2U);
  EXPECT_EQ(fields[0].number, 1U);
  EXPECT_EQ(number_in<double>(fields[0].bytes), 1731681000.25);
  EXPECT_EQ(fields[1].number, 3U);
  EXPECT_EQ(fields[1].bytes, "brain.Event:2");
}

TEST(EventFile, IsTheseBytes) {
  const ScratchFolder folder;
  EventFile file(folder.path(), Party::kB, 0);
  const std::size_t before = content_of(file.path()).size();
  file.write(300, 1, "train", std::vector<Measure>{{"loss", 0.5}});
  // By hand: wall_time 1.0, step 300, a summary of 19 bytes with a value of 17: the tag, and 0.5 as a float.
  const std::string event =
      "09000000000000f03f"
      "10ac02"
      "2a13"
      "0a11"
      "0a0a747261696e2f6c6f7373"
      "150000003f";
  const std::string written = to_hex(as_bytes(std::string_view(content_of(file.path())).substr(before)));
  EXPECT_EQ(written.substr(24, written.size() - 32), event);
  EXPECT_EQ(written.substr(0, 16), "2100000000000000");
}

TEST(EventFile, HoldsScalars) {
  const ScratchFolder folder;
  EventFile file(folder.path(), Party::kB, 100);
  const std::vector<Measure> values = {{"loss", 0.25}, {"auc", 1.0 / 3}, {"large", 1e300}, {"none", std::nan("")}};
  file.write(1ULL << 40, 101.5, "test", values);
  file.write(0, 102, "test", {});
  const std::vector<std::string> records = records_of(content_of(file.path()));
  ASSERT_EQ(records.size(), 3U);
  const std::vector<Field> event = fields_of(records[1]);
  ASSERT_EQ(event.size(), 3U);
  EXPECT_EQ(number_in<double>(event[0].bytes), 101.5);
  EXPECT_EQ(event[1].number, 2U);
  EXPECT_EQ(event[1].integer, 1ULL << 40);
  EXPECT_EQ(event[2].number, 5U);
  std::map<std::string, float> scalars;
  for (const Field& value : fields_of(event[2].bytes)) {
    EXPECT_EQ(value.number, 1U);
    const std::vector<Field> parts = fields_of(value.bytes);
    ASSERT_EQ(parts.size(), 2U);
    EXPECT_EQ(parts[0].number, 1U);
    EXPECT_EQ(parts[1].number, 2U);
    scalars[parts[0].bytes] = number_in<float>(parts[1].bytes);
  }
  ASSERT_EQ(scalars.size(), 4U);
  EXPECT_EQ(scalars["test/loss"], 0.25F);
  EXPECT_EQ(scalars["test/auc"], static_cast<float>(1.0 / 3));
  EXPECT_EQ(scalars["test/large"], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(scalars["test/none"]));
}

TEST(EventFile, TellsOfARestart) {
  const ScratchFolder folder;
  EventFile first(folder.path(), Party::kB, 100);
  EventFile second(folder.path(), Party::kB, 100.9);
  EXPECT_NE(first.path(), second.path()) << "two files in one second";
  second.restart(12, 101);
  const std::vector<std::string> records = records_of(content_of(second.path()));
  ASSERT_EQ(records.size(), 2U);
  const std::vector<Field> event = fields_of(records[1]);
  ASSERT_EQ(event.size(), 3U);
  EXPECT_EQ(event[1].integer, 12U);
  EXPECT_EQ(event[2].number, 7U);
  const std::vector<Field> status = fields_of(event[2].bytes);
  ASSERT_EQ(status.size(), 1U);
  EXPECT_EQ(status[0].number, 1U);
  EXPECT_EQ(status[0].integer, 1U);
}

TEST(EventFile, KeepsNothingOfLabelsOrScoresForA) {
  const ScratchFolder folder;
  EventFile file(folder.path(), Party::kA, 100);
  const std::string before = content_of(file.path());
  EXPECT_THAT(
      [&] {
        file.write(1, 100, "train", std::vector<Measure>{{"bytes_sent", 1}, {"loss", 0.5}});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("'loss'")));
  EXPECT_EQ(content_of(file.path()), before);
  file.write(1, 100, "train", std::vector<Measure>{{"bytes_sent", 1}});
  EXPECT_EQ(records_of(content_of(file.path())).size(), 2U);
}

TEST(EventFile, WritesTagsThatProtobufTakes) {
  const ScratchFolder folder;
  EventFile file(folder.path(), Party::kB, 100);
  file.write(1, 100, "a\xFF", std::vector<Measure>{{"b\n", 1}});
  EXPECT_THAT(content_of(file.path()), HasSubstr("a?/b?"));
  EXPECT_THROW(EventFile(folder.path(), Party::kB, -1), InvalidArgument);
  EXPECT_THROW(EventFile(folder.path(), Party::kB, std::nan("")), InvalidArgument);
  EXPECT_THROW(EventFile(folder / "nowhere", Party::kB, 1), ConfigError);
}

}  // namespace
}  // namespace blindfl::run::event_file_test
