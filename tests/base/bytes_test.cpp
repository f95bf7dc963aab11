#include "blindfl/base/bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "blindfl/base/error.h"

namespace blindfl::bytes_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr UInt128 make_u128(std::uint64_t high, std::uint64_t low) {
  return static_cast<UInt128>(high) << 64 | low;
}

Bytes bytes_of(const std::vector<unsigned>& values) {
  Bytes bytes;
  for (const unsigned v : values) bytes.push_back(static_cast<std::byte>(v));
  return bytes;
}

TEST(Bytes, ReadBackWhatWasWritten) {
  const std::vector<UInt128> wide = {0, 1, make_u128(1, 0), ~static_cast<UInt128>(0)};
  const Bytes bytes = write_to_bytes([&](ByteSink& out) {
    out.write_u8(0xFE);
    out.write_u32(0);
    out.write_u32(std::numeric_limits<std::uint32_t>::max());
    out.write_u64(0x8000000000000001);
    out.write_u128(wide);
    out.write(as_bytes("tail"));
  });
  ASSERT_EQ(bytes.size(), 1U + 4 + 4 + 8 + 4 * 16 + 4);

  BufferSource in(bytes);
  EXPECT_EQ(in.read_u8(), 0xFE);
  EXPECT_EQ(in.read_u32(), 0U);
  EXPECT_EQ(in.read_u32(), std::numeric_limits<std::uint32_t>::max());
  EXPECT_EQ(in.read_u64(), 0x8000000000000001);
  std::vector<UInt128> read(wide.size());
  in.read_u128(read);
  EXPECT_TRUE(read == wide);
  EXPECT_EQ(in.remaining(), 4U);
  Bytes tail(4);
  in.read(tail);
  EXPECT_EQ(tail, bytes_of({'t', 'a', 'i', 'l'}));
  EXPECT_EQ(in.remaining(), 0U);
}

TEST(Bytes, HoldNumbersAndTexts) {
  const Bytes bytes = write_to_bytes([](ByteSink& out) {
    out.write_real(-0.1);
    out.write_text("four");
    out.write_text("");
    out.write_u8(1);
    out.write_u8(0);
    out.write_u8(2);
    out.write_text("longer");
  });
  BufferSource in(bytes);
  EXPECT_EQ(in.read_real(), -0.1);
  EXPECT_EQ(in.read_text(4), "four");
  EXPECT_EQ(in.read_text(0), "");
  EXPECT_TRUE(in.read_flag());
  EXPECT_FALSE(in.read_flag());
  EXPECT_THROW((void)in.read_flag(), ProtocolError);
  EXPECT_THROW((void)in.read_text(5), ProtocolError);
  BufferSource cut(ByteView(bytes).subspan(8, 6));
  EXPECT_THROW((void)cut.read_text(1000), ProtocolError);
}

TEST(Bytes, AreLittleEndian) {
  const std::array<UInt128, 2> wide = {make_u128(0x0F0E0D0C0B0A0908, 0x0706050403020100), 0x42};
  struct Case {
    Bytes written;
    Bytes expected;
  };
  const std::vector<Case> cases = {
      {write_to_bytes([](ByteSink& out) { out.write_u8(0xAB); }), bytes_of({0xAB})},
      {write_to_bytes([](ByteSink& out) { out.write_u32(0x01020304); }), bytes_of({4, 3, 2, 1})},
      {write_to_bytes([](ByteSink& out) { out.write_u64(0x0102030405060708); }), bytes_of({8, 7, 6, 5, 4, 3, 2, 1})},
      {write_to_bytes([&](ByteSink& out) { out.write_u128(wide); }),
       bytes_of({0,    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,  //
                 0x42, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  0,  0,  0,  0})},
  };
  for (const Case& c : cases) EXPECT_EQ(c.written, c.expected);
}

TEST(Bytes, KeepTheOrderOfPieces) {
  BufferSink sink;
  for (const std::string_view piece : {"a", "", "bc", "def"}) sink.write(as_bytes(piece));
  EXPECT_EQ(sink.bytes(), bytes_of({'a', 'b', 'c', 'd', 'e', 'f'}));
  EXPECT_EQ(sink.take(), bytes_of({'a', 'b', 'c', 'd', 'e', 'f'}));
  EXPECT_TRUE(write_to_bytes([](ByteSink&) {}).empty());
}

TEST(Bytes, OfATextAreTheText) {
  const std::string_view with_zero("x\0y", 3);
  const ByteView view = as_bytes(with_zero);
  EXPECT_EQ(Bytes(view.begin(), view.end()), bytes_of({'x', 0, 'y'}));
  EXPECT_TRUE(as_bytes("").empty());
}

TEST(Bytes, SayHowMuchATruncatedMessageLacks) {
  const Bytes three(3);
  Bytes ten(10);
  std::array<UInt128, 2> wide{};
  const auto lacks = [](const char* expected, const char* left) {
    return ThrowsMessage<ProtocolError>(AllOf(HasSubstr(expected), HasSubstr(left)));
  };
  EXPECT_THAT([&] { (void)BufferSource(three).read_u32(); }, lacks("4 more bytes", "3 left"));
  EXPECT_THAT([&] { (void)BufferSource(three).read_u64(); }, lacks("8 more bytes", "3 left"));
  EXPECT_THAT([&] { BufferSource(three).read(ten); }, lacks("10 more bytes", "3 left"));
  EXPECT_THAT([&] { BufferSource(three).read_u128(wide); }, lacks("32 more bytes", "3 left"));
  EXPECT_THAT([&] { (void)BufferSource({}).read_u8(); }, lacks("1 more bytes", "0 left"));
}

TEST(Bytes, AreNotConsumedByAReadThatFails) {
  const Bytes three = bytes_of({7, 8, 9});
  BufferSource in(three);
  EXPECT_THROW((void)in.read_u32(), ProtocolError);
  EXPECT_EQ(in.remaining(), 3U);
  EXPECT_EQ(in.read_u8(), 7);
  in.read({});
  EXPECT_EQ(in.remaining(), 2U);
}

TEST(BitLength, CountsUpToTheHighestBit) {
  EXPECT_EQ(bit_length(0), 0);
  for (int n = 0; n < 128; ++n) {
    const UInt128 power = static_cast<UInt128>(1) << n;
    EXPECT_EQ(bit_length(power), n + 1);
    EXPECT_EQ(bit_length(power - 1), n);
  }
  EXPECT_EQ(bit_length(~static_cast<UInt128>(0)), 128);
}

}  // namespace
}  // namespace blindfl::bytes_test
