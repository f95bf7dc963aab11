#include "blindfl/he/lattice/fraction.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace blindfl::he::lattice::fraction_test
