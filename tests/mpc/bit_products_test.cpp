#include "blindfl/mpc/bit_products.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "blindfl/base/error.h"
#include "blindfl/base/random.h"
#include "mpc/dealt_pools.h"

namespace blindfl::mpc::bit_products_test {
namespace {

BitShares random_bits(std::size_t size, Random& random) {
  BitShares bits(size);
  random.fill_integers(bits.words());
  bits.clear_tail();
  return bits;
}

BitShares product(const BitShares& x, const BitShares& y) {
  BitShares result = x;
  for (std::size_t i = 0; i < result.words().size(); ++i) result.words()[i] &= y.words()[i];
  return result;
}

std::vector<BitShares> read_all(const Bytes& bytes, std::size_t planes, std::size_t size) {
  BufferSource in(bytes);
  std::vector<BitShares> read;
  for (std::size_t i = 0; i < planes; ++i) read.push_back(BitShares::read(in, size));
  EXPECT_EQ(in.remaining(), 0U);
  return read;
}

struct Triples {
  Triples(DealtPools& pools, std::size_t count)
      : first(count, pools.sent.sender, pools.received.receiver),
        second(count, pools.received.sender, pools.sent.receiver) {}
  SharedFactorTriples first;
  SharedFactorTriples second;
};

TEST(SharedFactorTriples, AreProductsOfOneFactor) {
  DealtPools pools;
  pools.extend_to({.sender_ots = 1000, .receiver_ots = 1000});
  const Triples triples(pools, 1000);
  const BitShares a = triples.first.a ^ triples.second.a;
  EXPECT_EQ(triples.first.c ^ triples.second.c, product(a, triples.first.b ^ triples.second.b));
  EXPECT_EQ(triples.first.c_second ^ triples.second.c_second,
            product(a, triples.first.b_second ^ triples.second.b_second));
  // Both are opened, under these: what they have in common would tell the sum of the factors.
  std::size_t ones = 0;
  const BitShares sum = triples.first.b ^ triples.first.b_second;
  for (const std::uint64_t word : sum.words()) ones += static_cast<std::size_t>(std::popcount(word));
  EXPECT_NEAR(static_cast<double>(ones), 500, 6 * 0.5 * std::sqrt(1000.0));
}

TEST(BitProducts, SharesAddUpToTheProducts) {
  Random random;
  DealtPools pools;
  for (const std::size_t size : {1, 64, 100, 777}) {
    pools.extend_to({.sender_ots = 2 * size, .receiver_ots = 2 * size});
    for (const bool with_z : {false, true}) {
      Triples triples(pools, size);
      std::vector<BitShares> shares;
      for (int i = 0; i < 6; ++i) shares.push_back(random_bits(size, random));
      const BitProducts first(std::move(triples.first), shares[0], shares[1], with_z ? &shares[2] : nullptr, true);
      const BitProducts second(std::move(triples.second), shares[3], shares[4], with_z ? &shares[5] : nullptr, false);
      EXPECT_EQ(first.planes(), with_z ? 3U : 2U);
      const auto of_first = read_all(write_to_bytes([&](ByteSink& out) { first.write(out); }), first.planes(), size);
      const auto of_second = read_all(write_to_bytes([&](ByteSink& out) { second.write(out); }), first.planes(), size);
      const auto mine = first.finish(of_second);
      const auto theirs = second.finish(of_first);
      const BitShares x = shares[0] ^ shares[3];
      EXPECT_EQ(mine.xy ^ theirs.xy, product(x, shares[1] ^ shares[4]));
      if (with_z) {
        EXPECT_EQ(mine.xz ^ theirs.xz, product(x, shares[2] ^ shares[5]));
      }
      EXPECT_THROW((void)first.finish(std::span(of_second).first(1)), InvalidArgument);
      // NOLINTNEXTLINE(bugprone-use-after-move): the point
      EXPECT_THROW(BitProducts(std::move(triples.first), shares[0], shares[1], nullptr, true), InvalidArgument);
    }
  }
}

}  // namespace
}  // namespace blindfl::mpc::bit_products_test
