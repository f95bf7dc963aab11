#include "blindfl/he/lattice/fraction.h"

#include <gtest/gtest.h>

#include <vector>

#include "blindfl/base/random.h"

namespace blindfl::he::lattice::fraction_test {
namespace {

constexpr UInt128 kOnes = ~UInt128{0};

TEST(Fraction, OfHalvesAndParts) {
  const Fraction half = Fraction::one_over(2);
  EXPECT_TRUE(half == Fraction::of(static_cast<UInt128>(1) << 127, 0));
  Fraction sum = half;
  sum += half;
  EXPECT_TRUE(sum == Fraction()) << "modulo 1";
}

TEST(Fraction, CarriesThroughAllItsWords) {
  Fraction f = Fraction::of(kOnes, kOnes);
  f += Fraction::of(0, 1);
  EXPECT_TRUE(f == Fraction());
  Fraction g = Fraction::of(0, kOnes);
  g += Fraction::of(0, 1);
  EXPECT_TRUE(g == Fraction::of(1, 0));
}

TEST(Fraction, MultiplesAddUpToAlmostOne) {
  for (const std::uint64_t q : {3ULL, 65537ULL, 281474976694273ULL}) {
    // q times floor(2^256 / q) misses 2^256 by less than q.
    Fraction f;
    f.add_multiple(q, Fraction::one_over(q));
    f += Fraction::of(0, q);
    EXPECT_TRUE(f.high() == 0 && f.low() < q) << q;
    // In two steps as in one.
    Fraction g;
    g.add_multiple(q / 2, Fraction::one_over(q));
    g.add_multiple(q - q / 2, Fraction::one_over(q));
    g += Fraction::of(0, q);
    EXPECT_TRUE(f == g);
  }
}

/// A number of 256 bits, bit by bit: slow, and too simple to be wrong.
using Bits = std::vector<int>;  // the lowest first

Bits bits_of(const Fraction& f) {
  Bits bits;
  for (int i = 0; i < 128; ++i) bits.push_back(static_cast<int>(f.low() >> i & 1));
  for (int i = 0; i < 128; ++i) bits.push_back(static_cast<int>(f.high() >> i & 1));
  return bits;
}
/// With its sign in all bits above, `up` bits further up.
Bits shifted(Int128 value, int up) {
  Bits bits(256);
  for (int i = up; i < 256; ++i)
    bits[static_cast<std::size_t>(i)] = static_cast<int>(value >> std::min(i - up, 127) & 1);
  return bits;
}
Bits sum_of(const Bits& a, const Bits& b) {
  Bits sum;
  int carry = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    carry += a[i] + b[i];
    sum.push_back(carry & 1);
    carry >>= 1;
  }
  return sum;
}

UInt128 random_number(SeededRandom& random) {
  const UInt128 any = static_cast<UInt128>(random.next_u64()) << 64 | random.next_u64();
  switch (random.below(4)) {
    case 0:
      return kOnes;
    case 1:
      return any >> random.below(128);
    default:
      return any;
  }
}

TEST(Fraction, AddsShiftedNumbersOfEitherSignAtAnyPlace) {
  SeededRandom random(1);
  for (int places = 0; places <= 256; ++places) {
    for (int i = 0; i < 20; ++i) {
      Fraction f = Fraction::of(random_number(random), random_number(random));
      const auto value = static_cast<Int128>(random_number(random));
      const Bits expected = sum_of(bits_of(f), shifted(value, 256 - places));
      f.add_shifted(value, places);
      ASSERT_EQ(bits_of(f), expected) << places;
    }
  }
}

TEST(Fraction, RoundsToTheNearestAndAroundAtOne) {
  SeededRandom random(2);
  for (int bits = 1; bits <= 128; ++bits) {
    for (int i = 0; i < 20; ++i) {
      const Fraction f = Fraction::of(random_number(random), random_number(random));
      // Half a unit more, and cut.
      Bits sum = sum_of(bits_of(f), shifted(1, 255 - bits));
      UInt128 expected = 0;
      for (int k = 0; k < bits; ++k) {
        expected |= static_cast<UInt128>(sum[static_cast<std::size_t>(256 - bits + k)]) << k;
      }
      ASSERT_TRUE(f.rounded(bits) == expected) << bits;
    }
    EXPECT_TRUE(Fraction::of(kOnes, kOnes).rounded(bits) == 0) << "almost 1 is 0";
    Fraction half;
    half.add_shifted(1, bits + 1);
    EXPECT_TRUE(half.rounded(bits) == 1) << "halves go up";
    Fraction less = half;
    less.add_shifted(-1, 256);
    EXPECT_TRUE(less.rounded(bits) == 0);
  }
}

}  // namespace
}  // namespace blindfl::he::lattice::fraction_test
