#include "blindfl/net/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "blindfl/base/crc32c.h"
#include "blindfl/base/error.h"
#include "testing/steps.h"

namespace blindfl::net::frame_test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr FrameHeader kExample = {
    .message = {.step = protocol::steps::kForwardProduct, .layer = 0x01020304, .size = 0x1112131415161718},
    .sequence = 0x2122232425262728,
};

// With a checksum that fits what the header now says.
FrameHeaderBytes resealed(FrameHeaderBytes bytes) {
  const std::uint32_t checksum = header_checksum(bytes);
  std::memcpy(bytes.data() + 28, &checksum, sizeof checksum);
  return bytes;
}

TEST(FrameHeader, IsReadBackAsWritten) {
  const std::vector<FrameHeader> headers = {
      kExample,
      {.message = {.step = protocol::steps::kPublicKey, .layer = 0, .size = 0}, .sequence = 0},
      {.message = {.step = Step::numbered(0xFFFF),
                   .layer = std::numeric_limits<std::uint32_t>::max(),
                   .size = std::numeric_limits<std::uint64_t>::max()},
       .sequence = std::numeric_limits<std::uint64_t>::max()},
  };
  for (const FrameHeader& header : headers) {
    const FrameHeader read = decode_header(encode_header(header));
    EXPECT_EQ(read.message, header.message);
    EXPECT_EQ(read.sequence, header.sequence);
  }
}

TEST(FrameHeader, LiesOnTheWireAsDocumented) {
  const std::array<unsigned, 28> expected = {
      'B',  'F',  'L',  '1',                           // magic
      11,   0,    0,    0,                             // step, zero
      0x04, 0x03, 0x02, 0x01,                          // layer
      0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,  // sequence number
      0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,  // size
  };
  const FrameHeaderBytes bytes = encode_header(kExample);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(static_cast<unsigned>(bytes[i]), expected[i]) << i;
  std::uint32_t checksum = 0;
  std::memcpy(&checksum, bytes.data() + 28, sizeof checksum);
  EXPECT_EQ(checksum, crc32c(ByteView(bytes).first(28)));
  EXPECT_EQ(checksum, header_checksum(bytes));
}

TEST(FrameHeader, IsRefusedWithAnyBitFlipped) {
  const FrameHeaderBytes intact = encode_header(kExample);
  for (std::size_t bit = 0; bit < 8 * intact.size(); ++bit) {
    FrameHeaderBytes bytes = intact;
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_THROW((void)decode_header(bytes), ProtocolError) << "bit " << bit;
  }
  EXPECT_NO_THROW((void)decode_header(intact));
}

TEST(FrameHeader, IsRefusedWithAnotherMagic) {
  FrameHeaderBytes bytes = encode_header(kExample);
  bytes[3] = std::byte{'2'};
  EXPECT_THAT([&] { (void)decode_header(resealed(bytes)); },
              ThrowsMessage<ProtocolError>(HasSubstr("not a BlindFL message")));
  EXPECT_THROW((void)decode_header(FrameHeaderBytes{}), ProtocolError);
}

TEST(FrameHeader, IsRefusedIfTheZeroBytesAreNot) {
  for (const std::size_t i : {6, 7}) {
    FrameHeaderBytes bytes = encode_header(kExample);
    bytes[i] = std::byte{1};
    EXPECT_THAT([&] { (void)decode_header(resealed(bytes)); }, ThrowsMessage<ProtocolError>(HasSubstr("step number")));
  }
}

}  // namespace
}  // namespace blindfl::net::frame_test
