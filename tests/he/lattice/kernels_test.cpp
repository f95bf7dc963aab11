// Every set of kernels against schoolbook arithmetic, and against each other; transforms: transforms_test.cpp.

#include "blindfl/he/lattice/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <limits>
#include <string>
#include <utility>

#include "blindfl/base/aligned.h"
#include "blindfl/base/error.h"
#include "blindfl/base/int128.h"
#include "blindfl/he/lattice/packing.h"
#include "he/lattice/kernel_set.h"

namespace blindfl::he::lattice::kernels_test {
namespace {

using Values = AlignedVector<std::uint64_t>;

class KernelSet : public AnyKernels {};

TEST_P(KernelSet, MultipliesAndSubtracts) {
  const Modulus m(largest_primes(50, 1, 64)[0], 64);
  const Values a = random_values(64, m);
  const Values b = random_values(64, m);
  const Values start = random_values(64, m);
  Values b_montgomery = b;
  for (auto& v : b_montgomery) v = m.to_montgomery(v);
  Values out = start;
  kernels_.multiply_subtract(out.data(), a.data(), b_montgomery.data(), 64, m);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(m.add(out[i], m.multiply(a[i], b[i])), start[i]);
}

TEST_P(KernelSet, AccumulatesAnyNumberOfTermsOfAnyRepeat) {
  const std::size_t n = 192;  // 64s, and not only
  for (const int bits : {35, 48, 49, 50}) {
    const Modulus m(largest_primes(bits, 1, 64)[0], 64);
    for (const std::size_t repeat : {std::size_t{1}, std::size_t{8}, std::size_t{16}, std::size_t{64}}) {
      for (const std::size_t count : {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 100}) {
        const bool largest = count == 100;  // worst case for the lazy sums
        Values left = largest ? Values(count * n, m.value() - 1) : random_values(count * n, m);
        const Values right = largest ? Values(count * n, m.value() - 1) : random_values(count * n, m);
        const Values start = random_values(n, m);
        Values out = start;
        kernels_.accumulate(out.data(), {left.data(), n, repeat, right.data(), n, count}, n, m);
        for (std::size_t p = 0; p < n; ++p) {
          std::uint64_t sum = 0;
          for (std::size_t t = 0; t < count; ++t)
            sum = m.add(sum, m.multiply(left[t * n + p / repeat], right[t * n + p]));
          // What was added is sum / 2^52: times 2^52 it is the sum.
          const std::uint64_t added = m.add(out[p], m.value() - start[p]);
          ASSERT_EQ(m.to_montgomery(added), sum) << "repeat " << repeat << ", " << count << " terms, position " << p;
        }

        const Values a = largest ? Values(n, m.value() - 1) : random_values(n, m);
        const Values b = largest ? Values(n, m.value() - 1) : random_values(n, m);
        Values whole(n);
        kernels_.multiply_accumulate(whole.data(), a.data(), b.data(), {left.data(), n, repeat, right.data(), n, count},
                                     n, m);
        for (std::size_t p = 0; p < n; ++p) {
          const std::uint64_t sum = m.to_montgomery(m.add(out[p], m.value() - start[p]));
          ASSERT_EQ(m.to_montgomery(whole[p]), m.add(sum, m.multiply(a[p], b[p])));
        }
      }
    }
  }
}

TEST_P(KernelSet, AccumulatesRightValuesThatAreNotResidues) {
  const std::size_t n = 64;
  for (const int bits : {20, 35, 48, 50}) {
    const Modulus m(largest_primes(bits, 1, 64)[0], 64);
    for (const int right_bits : {40, 48, 50}) {
      for (const std::size_t count : {3, 4, 5, 17, 40}) {
        const std::uint64_t most = std::uint64_t{1} << right_bits;
        const Values left = count == 40 ? Values(count, m.value() - 1) : random_values(count, m);
        Values right(count * n, most);
        if (count != 40) {
          for (auto& v : right) v = random_.below(most);
        }
        const Values a(n, m.value() - 1);
        Values out(n);
        kernels_.multiply_accumulate(out.data(), a.data(), a.data(),
                                     {left.data(), 1, n, right.data(), n, count, right_bits}, n, m);
        for (std::size_t p = 0; p < n; ++p) {
          std::uint64_t sum = 1;
          for (std::size_t t = 0; t < count; ++t) sum = m.add(sum, m.multiply(left[t], right[t * n + p]));
          ASSERT_EQ(m.to_montgomery(out[p]), sum) << bits << " bits, " << right_bits << ", " << count << " terms";
        }
      }
    }
  }
}

TEST_P(KernelSet, AccumulatesThousandsOfTerms) {
  // The largest there are, and modulo a small prime products just below 2^52: the sum of their lower halves must not
  // leave its word.
  const std::size_t count = 10000;
  for (const int bits : {35, 44, 50}) {
    const Modulus m(largest_primes(bits, 1, 64)[0], 64);
    const std::uint64_t right = bits == 35 ? (std::uint64_t{1} << 17) - 1 : m.value() - 1;
    const Values left(count, m.value() - 1);
    for (const std::size_t n : {8, 64}) {
      const Values rights(n * count, right);
      Values out(n, 0);
      kernels_.accumulate(out.data(), {left.data(), 1, n, rights.data(), n, count, 0}, n, m);
      const std::uint64_t sum = m.multiply(m.multiply(m.value() - 1, right), count);
      for (const std::uint64_t v : out) ASSERT_EQ(m.to_montgomery(v), sum) << bits << " bits, " << n << " positions";
    }
  }
}

TEST_P(KernelSet, AccumulatesRowsOfTermsThatShareTheirLeftValues) {
  const std::size_t n = 128;
  for (const int bits : {35, 50}) {
    const Modulus m(largest_primes(bits, 1, 64)[0], 64);
    for (const std::size_t repeat : {std::size_t{64}, std::size_t{128}}) {
      for (const std::size_t count : {11, 12, 31, 32, 33, 64, 100}) {
        const Values left = random_values(count * (n / repeat), m);
        const Values right = random_values(count * n, m);
        const Values a = random_values(n, m);
        const Values b = random_values(n, m);
        Values out(n);
        kernels_.multiply_accumulate(out.data(), a.data(), b.data(),
                                     {left.data(), n / repeat, repeat, right.data(), n, count}, n, m);
        for (std::size_t p = 0; p < n; ++p) {
          std::uint64_t sum = m.multiply(a[p], b[p]);
          for (std::size_t t = 0; t < count; ++t) {
            sum = m.add(sum, m.multiply(left[t * (n / repeat) + p / repeat], right[t * n + p]));
          }
          ASSERT_EQ(m.to_montgomery(out[p]), sum) << bits << " bits, repeat " << repeat << ", " << count << " terms";
        }
      }
    }
  }
}

TEST_P(KernelSet, LongSumsAreTheSameHoweverDoublesAreRounded) {
  const std::size_t n = 64;
  const std::size_t count = 200;
  for (const int bits : {20, 35, 44, 50}) {
    const Modulus m(largest_primes(bits, 1, 64)[0], 64);
    for (const bool largest : {false, true}) {
      const Values left = largest ? Values(count, m.value() - 1) : random_values(count, m);
      const Values right = largest ? Values(count * n, m.value() - 1) : random_values(count * n, m);
      const Values start = random_values(n, m);
      Values expected = start;
      kernels_.accumulate(expected.data(), {left.data(), 1, n, right.data(), n, count}, n, m);
      for (const int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
        Values out = start;
        std::fesetround(rounding);
        kernels_.accumulate(out.data(), {left.data(), 1, n, right.data(), n, count}, n, m);
        std::fesetround(FE_TONEAREST);
        ASSERT_EQ(out, expected) << bits << " bits, rounding " << rounding;
      }
    }
  }
}

TEST_P(KernelSet, ASumOfNoTermsIsItsFirstProduct) {
  const Modulus m(largest_primes(50, 1, 64)[0], 64);
  const Values a = random_values(64, m);
  const Values b = random_values(64, m);
  Values out(64);
  kernels_.multiply_accumulate(out.data(), a.data(), b.data(), {a.data(), 64, 1, b.data(), 64, 0}, 64, m);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(m.to_montgomery(out[i]), m.multiply(a[i], b[i]));
}

TEST_P(KernelSet, DividesByADroppedPrimeRoundingToTheNearest) {
  const auto small = largest_primes(35, 2, 64);
  const auto large = largest_primes(50, 2, 64);
  for (const auto& [prime, divisor] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{{large[0], small[0]},
                                                                                           {small[0], small[1]},
                                                                                           {small[1], small[0]},
                                                                                           {large[0], large[1]},
                                                                                           {large[1], large[0]}}) {
    const Modulus m(prime, 64);
    const Modulus by(divisor, 64);
    // Numbers below q * by, by their residues; the edges of the rounding among them.
    Values residues(192);
    Values dropped(192);
    Values expected(192);
    for (std::size_t i = 0; i < 192; ++i) {
      const std::uint64_t quotient = random_.below(m.value());
      const std::uint64_t half = by.value() / 2;
      const std::uint64_t rest = i == 0 ? 0 : i == 1 ? half : i == 2 ? half + 1 : random_.below(by.value());
      const UInt128 number = static_cast<UInt128>(quotient) * by.value() + rest;
      residues[i] = static_cast<std::uint64_t>(number % m.value());
      dropped[i] = rest;
      expected[i] = (quotient + (rest > half ? 1 : 0)) % m.value();
    }
    kernels_.divide(residues.data(), dropped.data(), by, m.to_montgomery(m.inverse(by.value() % m.value())), 192, m);
    EXPECT_EQ(residues, expected) << prime;
  }
}

TEST_P(KernelSet, MakesMixedRadixDigitsAndTheirNumber) {
  const std::size_t n = 192;
  for (const std::vector<int>& sizes : {std::vector<int>{50, 50, 50}, {50, 35, 44, 50}, {20, 50, 20}, {36, 35, 35}}) {
    std::vector<Modulus> moduli;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      moduli.emplace_back(largest_primes(sizes[i], sizes.size(), 64)[i], 64);  // no two are the same
    }
    std::vector<Values> digits;
    for (const Modulus& m : moduli) {
      digits.push_back(random_values(n, m));
      for (std::size_t p = 0; p < 8; ++p) digits.back()[p] = 0;
      for (std::size_t p = 4; p < 16; ++p) digits.back()[p] = m.value() - 1;
    }
    std::vector<Values> residues(moduli.size(), Values(n));
    for (std::size_t l = 0; l < moduli.size(); ++l) {
      for (std::size_t p = 0; p < n; ++p) {
        std::uint64_t x = 0;
        for (std::size_t i = moduli.size(); i-- > 0;) {
          x = moduli[l].add(moduli[l].multiply(x, moduli[i].value()), digits[i][p]);
        }
        residues[l][p] = x;
      }
    }

    std::vector<Values> rest = residues;
    for (std::size_t i = 0; i < moduli.size(); ++i) {
      ASSERT_EQ(rest[i], digits[i]) << "digit " << i;
      for (std::size_t l = i + 1; l < moduli.size(); ++l) {
        const Modulus& m = moduli[l];
        const std::uint64_t one_over = m.to_montgomery(m.inverse(moduli[i].value() % m.value()));
        kernels_.subtract_divide(rest[l].data(), digits[i].data(), one_over, n, m);
      }
    }
    for (std::size_t l = 0; l < moduli.size(); ++l) {
      Values x = digits.back();  // which may be larger than this prime
      for (std::size_t i = moduli.size() - 1; i-- > 0;) {
        const std::uint64_t by = moduli[l].to_montgomery(moduli[i].value());
        kernels_.multiply_add(x.data(), by, digits[i].data(), n, moduli[l]);
      }
      ASSERT_EQ(x, residues[l]) << "residue " << l;
    }
  }
}

TEST_P(KernelSet, MixedRadixStepsTakeDigitsUpTo2To50) {
  const std::uint64_t most = std::uint64_t{1} << 50;
  for (const int bits : {20, 35, 50}) {
    const Modulus m(largest_primes(bits, 1, 64)[0], 64);
    const std::uint64_t q = m.value();
    const Values digit{0, most, most, 0, q - 1, q, 1, most - 1};
    const Values start{0, 0, q - 1, q - 1, 0, 1, q - 1, q - 1};
    Values out = start;
    kernels_.subtract_divide(out.data(), digit.data(), q - 1, 8, m);
    for (std::size_t p = 0; p < 8; ++p) {
      const std::uint64_t product = m.multiply(m.add(start[p], q - digit[p] % q), q - 1);
      EXPECT_EQ(m.to_montgomery(out[p]), product) << bits << " bits, " << p;
    }
    const Values large{0, 0, most, most, q, most - 1, 1, 5};
    out = large;
    kernels_.multiply_add(out.data(), q - 1, digit.data(), 8, m);
    for (std::size_t p = 0; p < 8; ++p) {
      const std::uint64_t sum = m.add(m.multiply(large[p], q - 1), m.to_montgomery(digit[p]));
      EXPECT_EQ(m.to_montgomery(out[p]), sum) << bits << " bits, " << p;
    }
  }
}

TEST_P(KernelSet, LiftsNumbersOfAnySize) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const int bits : {20, 35, 48, 50}) {
    const Modulus m(largest_primes(bits, 1, 64)[0], 64);
    const auto q = static_cast<std::int64_t>(m.value());
    AlignedVector<std::int64_t> wide(200);
    for (auto& x : wide) x = static_cast<std::int64_t>(random_.below(~std::uint64_t{0}));
    const std::int64_t two62 = std::int64_t{1} << 62;
    const std::vector<std::int64_t> edges{0,         1,     -1,         q - 1,      1 - q,         q,
                                          -q,        q + 1, -q - 1,     two62,      -two62,        two62 - 1,
                                          1 - two62, kMost, -kMost - 1, 0xFFFFFFFF, kMost / q * q, -(kMost / q * q)};
    std::copy(edges.begin(), edges.end(), wide.begin());
    Values lifted(wide.size());
    kernels_.lift_wide(lifted.data(), wide.data(), wide.size(), m);
    for (std::size_t i = 0; i < wide.size(); ++i) {
      ASSERT_EQ(lifted[i], static_cast<std::uint64_t>((wide[i] % q + q) % q)) << wide[i] << ", " << bits << " bits";
    }
  }
}

TEST_P(KernelSet, LiftsAndAddsSmallNumbers) {
  const Modulus m(largest_primes(35, 1, 64)[0], 64);
  const std::uint64_t q = m.value();
  AlignedVector<std::int64_t> small{
      -1, 0, 1, -21, 21, -static_cast<std::int64_t>(q - 1), static_cast<std::int64_t>(q - 1), 5};
  Values lifted(8);
  kernels_.lift(lifted.data(), small.data(), 8, m);
  EXPECT_EQ(lifted, (Values{q - 1, 0, 1, q - 21, 21, 1, q - 1, 5}));
  Values sum{0, 0, q - 1, 20, q - 21, q - 1, q - 1, 7};
  kernels_.add_small(sum.data(), small.data(), 8, m);
  EXPECT_EQ(sum, (Values{q - 1, 0, 0, q - 1, 0, 0, q - 2, 12}));
}

TEST_P(KernelSet, Subtracts) {
  const Modulus m(largest_primes(50, 1, 64)[0], 64);
  const std::uint64_t q = m.value();
  Values values{0, 0, q - 1, q - 1, 5, 7, 1, 0};
  const Values taken_off{0, 1, 0, q - 1, 7, 5, q - 1, q - 1};
  kernels_.subtract(values.data(), taken_off.data(), 8, m);
  EXPECT_EQ(values, (Values{0, q - 1, q - 1, 0, q - 2, 2, 2, 1}));
}

TEST_P(KernelSet, PacksAndUnpacksEveryWidth) {
  for (int bits = 20; bits <= 50; ++bits) {
    const std::uint64_t bound = std::uint64_t{1} << bits;
    for (const std::size_t count : {kPackedBlock, 4 * kPackedBlock}) {
      Values values(count);
      for (auto& v : values) v = random_.below(bound);
      values[0] = bound - 1;
      Values words(packed_words(count, bits), ~std::uint64_t{0});
      kernels_.pack(words.data(), values.data(), count, bits);
      Values back(count);
      EXPECT_TRUE(kernels_.unpack(back.data(), 64, words.data(), count, bits, bound));
      EXPECT_EQ(back, values) << bits << " bits";
      EXPECT_FALSE(kernels_.unpack(back.data(), 64, words.data(), count, bits, bound - 1)) << "the largest is missed";
      Values apart(count * 2, 7);
      EXPECT_TRUE(kernels_.unpack(apart.data(), 128, words.data(), count, bits, bound));
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(apart[i / 64 * 128 + i % 64], values[i]);
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(apart[i / 64 * 128 + 64 + i % 64], 7U);
    }
  }
}

TEST_P(KernelSet, PacksLanesSideBySideLowestBitFirst) {
  Values values(kPackedBlock, 0);
  values[3] = 5;      // lane 3, row 0
  values[8 + 3] = 1;  // lane 3, row 1
  Values words(packed_words(kPackedBlock, 35));
  kernels_.pack(words.data(), values.data(), kPackedBlock, 35);
  EXPECT_EQ(words[3], 5 + (std::uint64_t{1} << 35));
  EXPECT_EQ(words[2], 0U);
}

TEST_P(KernelSet, CountsCoins) {
  Values words{0, ~std::uint64_t{0}, 1, std::uint64_t{1} << 41, std::uint64_t{1} << 42, 0x155555, 3, 0};
  kernels_.centred_binomial(words.data(), 8);
  const auto at = [&](std::size_t i) { return static_cast<std::int64_t>(words[i]); };
  EXPECT_EQ(at(0), -21);
  EXPECT_EQ(at(1), 21);
  EXPECT_EQ(at(2), -20);
  EXPECT_EQ(at(3), -20);
  EXPECT_EQ(at(4), -21) << "only 42 coins count";
  EXPECT_EQ(at(5), -10);
  EXPECT_EQ(at(6), -19);
}

TEST_P(KernelSet, CutsWordsIntoThirds) {
  const std::uint64_t third = 0x55555556;  // the first 32-bit number in the middle third
  Values words{0, third - 1, third, 0xAAAAAAAA, 0xAAAAAAAB, 0xFFFFFFFF, std::uint64_t{0xFFFFFFFF} << 32, third << 32};
  AlignedVector<std::int64_t> out(16);
  kernels_.ternary(out.data(), words.data(), 16);
  EXPECT_EQ(out, (AlignedVector<std::int64_t>{-1, -1, 0, 0, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 0}));
}

TEST(Kernels, AreFoundByNameOrRefusedNamingThoseThereAre) {
  EXPECT_EQ(kernels_by_name("portable").name, "portable");
  EXPECT_EQ(available_kernels().back(), &portable_kernels());
  try {
    (void)kernels_by_name("abacus");
    ADD_FAILURE() << "found";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("portable"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, KernelSet, ::testing::ValuesIn(kernel_names()),
                         [](const auto& name) { return name.param; });

}  // namespace
}  // namespace blindfl::he::lattice::kernels_test
