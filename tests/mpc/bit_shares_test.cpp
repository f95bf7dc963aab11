#include "blindfl/mpc/bit_shares.h"

#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "blindfl/base/random.h"

namespace blindfl::mpc::bit_shares_test {
namespace {

TEST(BitShares, PlanesAndWordsAreTransposed) {
  Random random;
  for (const std::size_t size : {1, 5, 63, 64, 65, 200}) {
    SecretVector<std::uint64_t> words(size);
    random.fill_integers(std::span(words));
    for (const std::size_t count : {1, 3, 33, 64}) {
      const std::vector<BitShares> planes = planes_of(words, count);
      ASSERT_EQ(planes.size(), count);
      for (std::size_t j = 0; j < count; ++j) {
        for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(planes[j].bit(i), (words[i] >> j & 1) != 0);
      }
      const std::uint64_t mask = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
      const SecretVector<std::uint64_t> back = words_of(planes, size);
      for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(back[i], words[i] & mask);
    }
    for (const std::size_t count : {0, 1, 4, 8}) {
      const SecretVector<std::uint8_t> back = bytes_of(planes_of(words, count), size);
      for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(back[i], words[i] & ((1U << count) - 1));
    }
    EXPECT_THROW((void)bytes_of(planes_of(words, 9), size), InvalidArgument);
  }
}

TEST(BitShares, AreWrittenInAsFewBytesAsTheyTake) {
  BitShares bits(13);
  bits.words()[0] = 0x1ABC;
  const Bytes bytes = write_to_bytes([&](ByteSink& out) { bits.write(out); });
  EXPECT_EQ(bytes, (Bytes{std::byte{0xBC}, std::byte{0x1A}}));
  BufferSource in(bytes);
  EXPECT_EQ(BitShares::read(in, 13), bits);
  EXPECT_EQ(in.remaining(), 0U);
}

TEST(BitShares, ABitBeyondTheLastIsRefused) {
  for (const std::size_t size : {1, 7, 9, 63, 65}) {
    Bytes bytes(bytes_for_bits(size));
    bytes.back() = std::byte(1 << size % 8);
    BufferSource in(bytes);
    EXPECT_THROW((void)BitShares::read(in, size), ProtocolError);
    EXPECT_THROW(BitShares(size, SecretVector<std::uint64_t>((size + 63) / 64, ~std::uint64_t{0})), InvalidArgument);
  }
  BufferSource empty({});
  EXPECT_THROW((void)BitShares::read(empty, 1), ProtocolError);
  EXPECT_THROW(BitShares(65, SecretVector<std::uint64_t>(1)), InvalidArgument);
}

TEST(BitShares, NegatedLeavesNothingBeyondTheLast) {
  const BitShares bits = BitShares(70).negated();
  EXPECT_EQ(bits.words()[1], 0x3FU);
  EXPECT_EQ(bits.negated(), BitShares(70));
  EXPECT_THROW((void)(bits ^ BitShares(71)), InvalidArgument);
}

}  // namespace
}  // namespace blindfl::mpc::bit_shares_test
