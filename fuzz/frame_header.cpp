// A frame's header. Input: switches (1: put the magic in, 2: put the checksum in), then the header.

#include <algorithm>
#include <cstring>

#include "blindfl/base/error.h"
#include "blindfl/net/frame.h"
#include "input.h"

namespace {

using namespace blindfl;

constexpr std::size_t kChecksumAt = net::kFrameHeaderBytes - 4;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const unsigned switches = input.take_byte();
  net::FrameHeaderBytes bytes{};
  std::ranges::copy(input.take(bytes.size()), bytes.begin());
  const bool magic = (switches & 1) != 0;
  const bool checksum = (switches & 2) != 0;
  if (magic) std::ranges::copy(as_bytes("BFL1"), bytes.begin());
  if (checksum) {
    const std::uint32_t right = net::header_checksum(bytes);
    std::memcpy(bytes.data() + kChecksumAt, &right, sizeof right);
  }
  try {
    const net::FrameHeader header = net::decode_header(bytes);
    (void)net::name_of(header.message.step);
    fuzz::check(net::encode_header(header) == bytes, "a header has one spelling");
  } catch (const ProtocolError&) {
    const bool zeros = bytes[6] == std::byte{0} && bytes[7] == std::byte{0};
    fuzz::check(!(magic && checksum && zeros), "a right header is not refused");
  }
  return 0;
}
