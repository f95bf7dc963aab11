#include "blindfl/net/frame.h"

#include <algorithm>
#include <cstring>

#include "blindfl/base/crc32c.h"
#include "blindfl/base/error.h"

namespace blindfl::net {

namespace {

constexpr std::uint32_t kMagic = 0x314C4642;  // "BFL1"
constexpr std::size_t kChecksumOffset = kFrameHeaderBytes - sizeof(std::uint32_t);

}  // namespace

std::uint32_t header_checksum(std::span<const std::byte, kFrameHeaderBytes> bytes) {
  return crc32c(bytes.first<kChecksumOffset>());
}

FrameHeaderBytes encode_header(const FrameHeader& header) {
  BufferSink out;
  out.write_u32(kMagic);
  out.write_u32(header.message.step.number());
  out.write_u32(header.message.layer);
  out.write_u64(header.sequence);
  out.write_u64(header.message.size);
  FrameHeaderBytes bytes{};
  std::ranges::copy(out.bytes(), bytes.begin());
  const std::uint32_t checksum = header_checksum(bytes);
  std::memcpy(bytes.data() + kChecksumOffset, &checksum, sizeof checksum);
  return bytes;
}

FrameHeader decode_header(std::span<const std::byte, kFrameHeaderBytes> bytes) {
  BufferSource in(bytes);
  require<ProtocolError>(in.read_u32() == kMagic, "what arrived is not a BlindFL message");
  FrameHeader header;
  const std::uint32_t step = in.read_u32();
  header.message.layer = in.read_u32();
  header.sequence = in.read_u64();
  header.message.size = in.read_u64();
  require<ProtocolError>(in.read_u32() == header_checksum(bytes), "a message's header was damaged on the way");
  require<ProtocolError>(step <= 0xFFFF, "a message has a step number that does not exist");
  header.message.step = Step::numbered(static_cast<std::uint16_t>(step));
  return header;
}

}  // namespace blindfl::net
