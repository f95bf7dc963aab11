#include "blindfl/base/crc32c.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "blindfl/base/random.h"

namespace blindfl::crc32c_test {
namespace {

Bytes random_bytes(std::size_t count, std::uint64_t seed) {
  SeededRandom random(seed);
  Bytes bytes(count);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random.below(256));
  return bytes;
}

TEST(Crc32c, GivesTheKnownAnswers) {
  Bytes ascending;
  for (int i = 0; i < 32; ++i) ascending.push_back(static_cast<std::byte>(i));
  struct Case {
    Bytes bytes;
    std::uint32_t expected;
  };
  const ByteView digits = as_bytes("123456789");
  // The digits are the usual check value; the others are from RFC 3720, appendix B.4.
  const std::vector<Case> cases = {
      {Bytes(digits.begin(), digits.end()), 0xE3069283},
      {Bytes(32, std::byte{0}), 0x8A9136AA},
      {Bytes(32, std::byte{0xFF}), 0x62A8AB43},
      {ascending, 0x46DD794E},
      {{}, 0},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(crc32c(c.bytes), c.expected);
    for (const Crc32cWay& way : crc32c_ways()) EXPECT_EQ(way.of(c.bytes, 0), c.expected) << way.name;
  }
}

void expect_all_ways_agree(ByteView part) {
  for (const std::uint32_t before : {0U, 0xDEADBEEFU}) {
    const std::uint32_t portable = crc32c_ways().back().of(part, before);
    ASSERT_EQ(crc32c(part, before), portable) << part.size() << " bytes";
    for (const Crc32cWay& way : crc32c_ways())
      ASSERT_EQ(way.of(part, before), portable) << way.name << ", " << part.size();
  }
}

TEST(Crc32c, IsTheSameInEveryWay) {
  constexpr std::size_t kLongest = 700;
  const Bytes bytes = random_bytes(kLongest + 16, 1);
  for (std::size_t offset = 0; offset < 16; ++offset) {
    for (std::size_t length = 0; length <= kLongest; ++length) {
      ASSERT_NO_FATAL_FAILURE(expect_all_ways_agree(ByteView(bytes).subspan(offset, length))) << "from " << offset;
    }
  }
}

TEST(Crc32c, IsTheSameForLongRunsSideBySide) {
  const Bytes bytes = random_bytes(10000, 4);
  for (const std::size_t length : {3071U, 3072U, 3073U, 6143U, 6144U, 6151U, 9216U, 9999U}) {
    ASSERT_NO_FATAL_FAILURE(expect_all_ways_agree(ByteView(bytes).subspan(1, length)));
  }
}

TEST(Crc32c, ContinuesWhereItWasLeft) {
  const Bytes bytes = random_bytes(600, 2);
  const ByteView view = bytes;
  const std::uint32_t whole = crc32c(view);
  for (std::size_t cut = 0; cut <= view.size(); ++cut) {
    EXPECT_EQ(crc32c(view.subspan(cut), crc32c(view.first(cut))), whole) << "cut at " << cut;
    for (const Crc32cWay& way : crc32c_ways()) {
      EXPECT_EQ(way.of(view.subspan(cut), way.of(view.first(cut), 0)), whole) << way.name << ", cut at " << cut;
    }
  }
}

TEST(Crc32c, ChangesWithEveryBit) {
  Bytes bytes = random_bytes(64, 3);
  const std::uint32_t intact = crc32c(bytes);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    const auto mask = static_cast<std::byte>(1U << (bit % 8));
    bytes[bit / 8] ^= mask;
    EXPECT_NE(crc32c(bytes), intact) << "bit " << bit;
    bytes[bit / 8] ^= mask;
  }
  EXPECT_EQ(crc32c(bytes), intact);
}

}  // namespace
}  // namespace blindfl::crc32c_test
