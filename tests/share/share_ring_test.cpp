#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/share/limbs.h"
#include "blindfl/share/products.h"
#include "blindfl/share/share_matrix.h"

namespace blindfl::share_ring_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr UInt128 kOne = 1;
constexpr UInt128 kAllOnes = ~static_cast<UInt128>(0);
const std::vector<int> kRings = {1, 2, 63, 64, 65, 127, 128};

ShareMatrix matrix(int scale, int ring_bits, const std::vector<UInt128>& values) {
  ShareMatrix m(1, values.size(), scale, ring_bits);
  std::ranges::copy(values, m.values().begin());
  m.reduce();
  return m;
}

ShareMatrix edges(int ring_bits) {
  const UInt128 half = kOne << (ring_bits - 1);
  return matrix(5, ring_bits, {0, 1, kAllOnes, half, half - 1, half + 1});
}

bool is_reduced(const ShareMatrix& m) {
  return std::ranges::all_of(m.values(), [&](UInt128 v) { return low_bits(v, m.ring_bits()) == v; });
}

Int128 opened(const ShareMatrix& a, const ShareMatrix& b) {
  const ShareMatrix sum = open(a, b);
  return signed_low_bits(sum.values()[0], sum.ring_bits());
}

TEST(LowBits, AreThoseOfAWholeNumber) {
  for (const int bits : kRings) {
    const UInt128 most = kAllOnes >> (128 - bits);
    EXPECT_TRUE(low_bits(kAllOnes, bits) == most) << bits;
    EXPECT_TRUE(low_bits(0, bits) == 0) << bits;
    EXPECT_TRUE(signed_low_bits(kAllOnes, bits) == -1) << bits;
    EXPECT_TRUE(signed_low_bits(most, bits) == -1) << bits;
    EXPECT_TRUE(signed_low_bits(most >> 1, bits) == static_cast<Int128>(most >> 1)) << bits;
    EXPECT_TRUE(static_cast<UInt128>(signed_low_bits(kOne << (bits - 1), bits)) == 0 - (kOne << (bits - 1))) << bits;
  }
}

TEST(Ring, HasFrom1To128Bits) {
  EXPECT_EQ(ShareMatrix(2, 3, 4).ring_bits(), 128);
  EXPECT_EQ(ShareMatrix().ring_bits(), 128);
  for (const int bits : kRings) EXPECT_EQ(ShareMatrix(2, 3, 4, bits).ring_bits(), bits);
  for (const int bits : {-1, 0, 129, 1000}) {
    EXPECT_THAT([&] { ShareMatrix(2, 3, 4, bits); },
                ThrowsMessage<InvalidArgument>(HasSubstr("a ring of " + std::to_string(bits) + " bits")));
  }
}

TEST(Ring, IsPartOfWhatIsCompared) {
  EXPECT_TRUE(ShareMatrix(1, 1, 0, 64) == ShareMatrix(1, 1, 0, 64));
  EXPECT_FALSE(ShareMatrix(1, 1, 0, 64) == ShareMatrix(1, 1, 0, 65));
}

TEST(Ring, OfTwoSharesMustBeTheSame) {
  ShareMatrix a(2, 2, 0, 63);
  const ShareMatrix b(2, 2, 0, 64);
  const auto names_both = ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("2^63"), HasSubstr("2^64")));
  EXPECT_THAT([&] { a += b; }, names_both);
  EXPECT_THAT([&] { a -= b; }, names_both);
  EXPECT_THAT([&] { (void)open(a, b); }, names_both);
  EXPECT_THAT([&] { place_columns(a, 0, b); }, names_both);
}

TEST(Ring, AddsAndSubtractsModuloItself) {
  for (const int bits : kRings) {
    const ShareMatrix all = edges(bits);
    for (const UInt128 other : all.values()) {
      const ShareMatrix b = matrix(5, bits, std::vector<UInt128>(all.cols(), other));
      const ShareMatrix sum = all + b;
      const ShareMatrix difference = all - b;
      EXPECT_EQ(sum.ring_bits(), bits);
      EXPECT_TRUE(is_reduced(sum) && is_reduced(difference)) << bits;
      for (std::size_t i = 0; i < all.cols(); ++i) {
        EXPECT_TRUE(sum.values()[i] == low_bits(all.values()[i] + other, bits)) << bits;
        EXPECT_TRUE(difference.values()[i] == low_bits(all.values()[i] - other, bits)) << bits;
      }
    }
  }
}

TEST(Ring, IsKeptWhereNothingElseIsSaid) {
  Random random;
  for (const int bits : kRings) {
    const ShareMatrix m = random_share(3, 4, 7, random, bits);
    EXPECT_EQ(m.ring_bits(), bits);
    EXPECT_TRUE(is_reduced(m)) << bits;
    const auto [mine, theirs] = split(m, random);
    EXPECT_EQ(mine.ring_bits(), bits);
    EXPECT_TRUE(is_reduced(mine) && is_reduced(theirs)) << bits;
    EXPECT_TRUE(open(mine, theirs) == m) << bits;
    EXPECT_TRUE(transpose(transpose(m)) == m) << bits;
    ShareMatrix joined = select_columns(m, 2, 2);
    EXPECT_EQ(joined.ring_bits(), bits);
    place_columns(joined, 0, select_columns(m, 0, 2));
    EXPECT_TRUE(joined == select_columns(m, 0, 2)) << bits;
    EXPECT_TRUE(rescale(m, 7) == m) << bits;
    EXPECT_TRUE(narrowed(m, bits) == m) << bits;
  }
}

// Every bit of a mask is a fair coin: the upper one of a narrow ring, too.
TEST(Ring, IsFilledByAMaskUpToItsUppermostBit) {
  constexpr std::size_t kCount = 20000;
  Random random;
  for (const int bits : kRings) {
    const ShareMatrix mask = random_share(1, kCount, 0, random, bits);
    const auto ones =
        std::ranges::count_if(mask.values(), [&](UInt128 v) { return (v >> (bits - 1)) != 0; });  // deviation 71
    EXPECT_NEAR(static_cast<double>(ones), kCount / 2.0, 500) << bits;
  }
}

TEST(Ring, ReduceTakesOffWhatIsAbove) {
  ShareMatrix m(1, 2, 0, 65);
  m.values()[0] = kAllOnes;
  m.row(0)[1] = kOne << 65;
  m.reduce();
  EXPECT_TRUE(m.values()[0] == (kOne << 65) - 1);
  EXPECT_TRUE(m.values()[1] == 0);
}

TEST(Ring, OfRealsIsReadAsSigned) {
  for (const int bits : kRings) {
    if (bits < 2) continue;
    EXPECT_THAT(decode_ring(matrix(1, bits, {kAllOnes, 0, kOne << (bits - 1)})),
                ::testing::ElementsAre(-0.5, 0, -std::ldexp(1.0, bits - 2)))
        << bits;
  }
  EXPECT_THAT(decode_ring(matrix(0, 1, {1, 0})), ::testing::ElementsAre(-1, 0));
  EXPECT_EQ(encode_ring(1, 1, std::vector<double>{1}, 0, 2).ring_bits(), 128);
  EXPECT_EQ(to_ring(IntMatrix::dense(1, 1, {-1}, 0, 1)).ring_bits(), 128);
}

TEST(Narrowed, SharesAreSharesInTheNarrowerRing) {
  Random random;
  for (const int from : kRings) {
    const ShareMatrix secret = edges(from);
    const ShareMatrix mine = random_share(1, secret.cols(), secret.scale(), random, from);
    const ShareMatrix theirs = secret - mine;
    for (const int to : kRings) {
      if (to > from) {
        EXPECT_THAT([&] { (void)narrowed(mine, to); },
                    ThrowsMessage<InvalidArgument>(
                        AllOf(HasSubstr("2^" + std::to_string(from) + " "), HasSubstr("2^" + std::to_string(to)))));
        continue;
      }
      const ShareMatrix a = narrowed(mine, to);
      EXPECT_EQ(a.ring_bits(), to);
      EXPECT_EQ(a.scale(), secret.scale());
      EXPECT_TRUE(is_reduced(a)) << from << " to " << to;
      EXPECT_TRUE(open(a, narrowed(theirs, to)) == narrowed(secret, to)) << from << " to " << to;
    }
  }
  EXPECT_THROW((void)narrowed(ShareMatrix(1, 1, 0, 8), 0), InvalidArgument);
}

TEST(Lifted, IsTheSecretOrOffByTheRingAsOftenAsSaid) {
  for (const int bits : {1, 2, 5, 8}) {
    const int count = 1 << bits;
    for (int secret = -count / 2; secret < count / 2; ++secret) {
      int failed = 0;
      for (int share = 0; share < count; ++share) {
        const auto a = static_cast<UInt128>(share);
        const ShareMatrix mine = lifted(matrix(3, bits, {a}));
        const ShareMatrix theirs = lifted(matrix(3, bits, {static_cast<UInt128>(static_cast<Int128>(secret)) - a}));
        const Int128 sum = opened(mine, theirs);
        EXPECT_TRUE(sum == secret || sum == secret + count || sum == secret - count) << secret << ", " << share;
        failed += sum == secret ? 0 : 1;
      }
      EXPECT_EQ(failed, secret >= 0 ? secret + 1 : -secret - 1) << secret << " modulo 2^" << bits;
    }
  }
}

TEST(Lifted, IsReadAsSignedAndInTheRingOf128Bits) {
  for (const int bits : kRings) {
    const ShareMatrix m = edges(bits);
    const ShareMatrix wide = lifted(m);
    EXPECT_EQ(wide.ring_bits(), 128);
    EXPECT_EQ(wide.scale(), m.scale());
    EXPECT_TRUE(narrowed(wide, bits) == m) << bits;
    for (std::size_t i = 0; i < m.cols(); ++i) {
      EXPECT_TRUE(static_cast<Int128>(wide.values()[i]) == signed_low_bits(m.values()[i], bits)) << bits;
    }
  }
  EXPECT_TRUE(lifted(edges(128)) == edges(128));
}

// The sum of the rounded shares times 2^k is the secret, off by at most 2^k, modulo the ring.
TEST(RescaleInARing, NeverGoesWrongForAnyPairOfShares) {
  constexpr int kBits = 8;
  for (int k = 1; k < kBits; ++k) {
    std::int64_t total = 0;
    for (int a = 0; a < 1 << kBits; ++a) {
      const ShareMatrix mine = rescale(matrix(10, kBits, {static_cast<UInt128>(a)}), 10 - k);
      ASSERT_EQ(mine.ring_bits(), kBits - k);
      ASSERT_EQ(mine.scale(), 10 - k);
      ASSERT_TRUE(is_reduced(mine));
      for (int b = 0; b < 1 << kBits; ++b) {
        const ShareMatrix theirs = rescale(matrix(10, kBits, {static_cast<UInt128>(b)}), 10 - k);
        const UInt128 back = open(mine, theirs).values()[0] << k;
        const auto error = static_cast<int>(signed_low_bits(back - static_cast<UInt128>(a + b), kBits));
        // In the ring of 2 that is left of 8 bits minus 7, half of it cannot be told from its negative.
        ASSERT_LE(std::abs(error), 1 << k) << a << ", " << b << " by " << k;
        if (std::abs(error) < 1 << (kBits - 1)) total += error;
      }
    }
    // Halves go up in both shares: one unit of the old scale on average, as in the ring of 2^128.
    if (k < kBits - 1) {
      EXPECT_EQ(total, std::int64_t{1} << (2 * kBits)) << k;
    }
  }
}

TEST(RescaleInARing, IsRightAtEdges) {
  Random random;
  for (const int bits : {63, 64, 65, 100, 127}) {
    for (const int k : {1, 20, bits - 2}) {
      for (int i = 0; i < 100; ++i) {
        const ShareMatrix secret = i < 6 ? matrix(40, bits, {edges(bits).values()[static_cast<std::size_t>(i)]})
                                         : random_share(1, 1, 40, random, bits);
        auto [mine, theirs] = split(secret, random);
        if (i % 2 == 0) {  // all ones is where adding the half runs over the ring
          mine = matrix(40, bits, {kAllOnes});
          theirs = secret - mine;
        }
        const ShareMatrix sum = open(rescale(mine, 40 - k), rescale(theirs, 40 - k));
        EXPECT_EQ(sum.ring_bits(), bits - k);
        EXPECT_TRUE(is_reduced(sum));
        const Int128 error = signed_low_bits((sum.values()[0] << k) - secret.values()[0], bits);
        EXPECT_TRUE(error <= static_cast<Int128>(1) << k && -error <= static_cast<Int128>(1) << k) << bits << " " << k;
      }
    }
  }
}

TEST(RescaleInARing, MustLeaveABit) {
  EXPECT_EQ(rescale(ShareMatrix(1, 1, 70, 64), 7).ring_bits(), 1);
  EXPECT_THAT([] { (void)rescale(ShareMatrix(1, 1, 70, 64), 6); },
              ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("scale 70 to 6"), HasSubstr("2^64"))));
  EXPECT_THROW((void)rescale(ShareMatrix(1, 1, 70, 1), 69), InvalidArgument);
  EXPECT_EQ(rescale(ShareMatrix(1, 1, 127, 128), 0).ring_bits(), 128);
}

TEST(RescaleInARing, IsExactUpwardsAndWidensTheRing) {
  Random random;
  for (const int bits : kRings) {
    for (const int k : {1, 63, 64, 127}) {
      const ShareMatrix secret = edges(bits);
      const auto [mine, theirs] = split(secret, random);
      const ShareMatrix sum = open(rescale(mine, 5 + k), rescale(theirs, 5 + k));
      EXPECT_EQ(sum.ring_bits(), std::min(128, bits + k));
      EXPECT_EQ(sum.scale(), 5 + k);
      EXPECT_TRUE(is_reduced(sum));
      for (std::size_t i = 0; i < secret.cols(); ++i) {
        EXPECT_TRUE(sum.values()[i] == low_bits(secret.values()[i] << k, sum.ring_bits())) << bits << " by " << k;
      }
    }
  }
}

TEST(PublicFactorInARing, IsRefused) {
  EXPECT_THAT([] { (void)multiply_public(ShareMatrix(1, 1, 0, 127), PublicFactor(0.5), 0); },
              ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("2^127"), HasSubstr("lift"))));
}

TEST(ProductInARing, IsThatModulo2To128Narrowed) {
  Random random;
  constexpr std::int64_t kLargest = std::int64_t{1} << 62;
  const IntMatrix dense = IntMatrix::dense(2, 3, {kLargest, -kLargest, -1, 7, 0, -kLargest + 1}, 1, kLargest);
  const IntMatrix csr = IntMatrix::csr(2, 3, {0, 2, 3}, {0, 2, 1}, {-3, 5, -kLargest}, 1, kLargest);
  const IntMatrix one_hot = IntMatrix::one_hot(3, {2, 0});
  for (const int bits : kRings) {
    for (const IntMatrix& x : {dense, csr, one_hot}) {
      const ShareMatrix wide = random_share(3, 4, 7, random);
      const ShareMatrix m = narrowed(wide, bits);
      EXPECT_TRUE(is_reduced(multiply(x, m))) << bits;
      EXPECT_TRUE(multiply(x, m) == narrowed(multiply(x, wide), bits)) << bits;
      EXPECT_TRUE(multiply_transposed(x.transpose(), m) == narrowed(multiply(x, wide), bits)) << bits;
    }
  }
}

TEST(LimbsInARing, AreOfSignedNumbersAndTheirProductIsInTheRing) {
  Random random;
  for (const int bits : {64, 72, 100}) {
    const ShareMatrix x = transpose(edges(bits));
    const Limbs limbs = Limbs::of(bits - 1, 2);
    const ShareMatrix m = random_share(1, 4, 7, random, 90);
    const ShareMatrix stacked = stack_rows(limbs, m);
    EXPECT_EQ(stacked.ring_bits(), 90);
    EXPECT_TRUE(is_reduced(stacked)) << bits;
    const ShareMatrix product = multiply(split_columns(limbs, x), stacked);
    for (std::size_t r = 0; r < x.rows(); ++r) {
      const auto factor = static_cast<UInt128>(signed_low_bits(x.values()[r], bits));
      for (std::size_t c = 0; c < 4; ++c) {
        EXPECT_TRUE(product.row(r)[c] == low_bits(factor * m.values()[c], 90)) << bits;
      }
    }
  }
}

}  // namespace
}  // namespace blindfl::share_ring_test
