// Every set of kernels against schoolbook arithmetic, and against each other.

#include "blindfl/he/lattice/kernels.h"

#include <gtest/gtest.h>

#include <string>

#include "blindfl/base/aligned.h"
#include "blindfl/base/error.h"
#include "blindfl/base/random.h"
#include "blindfl/he/lattice/packing.h"

namespace blindfl::he::lattice::kernels_test {
namespace {

using Values = AlignedVector<std::uint64_t>;

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Kernels* kernels : available_kernels()) all.emplace_back(kernels->name);
  return all;
}

class KernelSet : public ::testing::TestWithParam<std::string> {
 protected:
  const Kernels& kernels_ = kernels_by_name(GetParam());
  SeededRandom random_{3};

  Values random_values(std::size_t n, const Modulus& m) {
    Values values(n);
    for (auto& v : values) v = random_.below(m.value());
    return values;
  }
};

/// The product modulo x^N + 1, by the definition.
Values schoolbook(const Values& a, const Values& b, const Modulus& m) {
  const std::size_t n = a.size();
  Values out(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const std::uint64_t product = m.multiply(a[i], b[j]);
      const std::size_t k = (i + j) % n;
      out[k] = m.add(out[k], i + j < n ? product : (m.value() - product) % m.value());
    }
  }
  return out;
}

TEST_P(KernelSet, TransformsTurnPolynomialProductsIntoPointwiseOnes) {
  for (const std::size_t degree :
       {std::size_t{64}, std::size_t{128}, std::size_t{256}, std::size_t{512}, std::size_t{1024}}) {
    for (const int bits : {20, 35, 48}) {
      const Modulus m(largest_primes(bits, 1, degree)[0], degree);
      Values a = random_values(degree, m);
      Values b = random_values(degree, m);
      // The edges of the range too.
      a[0] = a[degree - 1] = b[0] = m.value() - 1;
      const Values expected = schoolbook(a, b, m);
      kernels_.forward(a.data(), m);
      kernels_.forward(b.data(), m);
      for (auto& v : b) v = m.to_montgomery(v);
      Values product(degree);
      kernels_.multiply(product.data(), a.data(), b.data(), degree, m);
      kernels_.inverse(product.data(), m, m.last_stage());
      EXPECT_EQ(product, expected) << "degree " << degree << ", " << bits << " bits";
    }
  }
}

TEST_P(KernelSet, AgreesWithThePortableOneAtTheShippedDegree) {
  const Kernels& portable = portable_kernels();
  for (const int bits : {35, 48}) {
    const Modulus m(largest_primes(bits, 1, 8192)[0], 8192);
    for (const Values& start :
         {random_values(8192, m), Values(8192, m.value() - 1), Values(8192, 0), Values(8192, 1)}) {
      Values mine = start;
      Values theirs = start;
      kernels_.forward(mine.data(), m);
      portable.forward(theirs.data(), m);
      ASSERT_EQ(mine, theirs);
      kernels_.inverse(mine.data(), m, m.last_stage());
      ASSERT_EQ(mine, start);
      portable.inverse(theirs.data(), m, m.last_stage_times_radix());
      kernels_.forward(mine.data(), m);
      kernels_.inverse(mine.data(), m, m.last_stage_times_radix());
      ASSERT_EQ(mine, theirs);
      for (std::size_t i = 0; i < start.size(); ++i) ASSERT_EQ(mine[i], m.to_montgomery(start[i]));
    }
  }
}

TEST_P(KernelSet, APolynomialInAPowerOfXIsConstantOnBlocks) {
  // What makes transforms of the private matrix short: in x^8, only every eighth value differs.
  const Modulus m(largest_primes(48, 1, 512)[0], 512);
  Values a(512, 0);
  for (std::size_t i = 0; i < 512; i += 8) a[i] = random_.below(m.value());
  kernels_.forward(a.data(), m);
  for (std::size_t i = 0; i < 512; ++i) EXPECT_EQ(a[i], a[i / 8 * 8]);
}

TEST_P(KernelSet, ShortTransformsAreTheDifferentValuesOfWholeOnes) {
  for (const std::size_t count : {std::size_t{8}, std::size_t{64}, std::size_t{128}, std::size_t{256}}) {
    const std::size_t degree = 1024;
    const Modulus m(largest_primes(48, 1, degree)[0], degree);
    Values together = random_values(8 * count, m);
    together[0] = together[8 * count - 1] = m.value() - 1;
    std::vector<Values> whole(8, Values(degree, 0));
    for (std::size_t i = 0; i < 8 * count; ++i) whole[i % 8][i / 8 * (degree / count)] = together[i];
    kernels_.forward_short(together.data(), count, m);
    for (std::size_t k = 0; k < 8; ++k) {
      portable_kernels().forward(whole[k].data(), m);
      for (std::size_t i = 0; i < degree; ++i) ASSERT_EQ(whole[k][i], together[i / (degree / count) * 8 + k]);
    }
  }
}

TEST_P(KernelSet, MultipliesAndSubtracts) {
  const Modulus m(largest_primes(48, 1, 64)[0], 64);
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
  for (const int bits : {35, 48}) {
    const Modulus m(largest_primes(bits, 1, 64)[0], 64);
    for (const std::size_t repeat : {std::size_t{1}, std::size_t{8}, std::size_t{16}, std::size_t{64}}) {
      for (const std::size_t count : {1, 2, 7, 8, 9, 16, 17, 100}) {
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

TEST_P(KernelSet, ASumOfNoTermsIsItsFirstProduct) {
  const Modulus m(largest_primes(48, 1, 64)[0], 64);
  const Values a = random_values(64, m);
  const Values b = random_values(64, m);
  Values out(64);
  kernels_.multiply_accumulate(out.data(), a.data(), b.data(), {a.data(), 64, 1, b.data(), 64, 0}, 64, m);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(m.to_montgomery(out[i]), m.multiply(a[i], b[i]));
}

TEST_P(KernelSet, DividesByADroppedPrimeRoundingToTheNearest) {
  const auto primes = largest_primes(35, 2, 64);
  for (const std::uint64_t prime : {largest_primes(48, 1, 64)[0], primes[0], primes[1]}) {
    const Modulus m(prime, 64);
    const Modulus by(primes[prime == primes[1] ? 0 : 1], 64);
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

TEST_P(KernelSet, PacksAndUnpacksEveryWidth) {
  for (int bits = 20; bits <= 48; ++bits) {
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

INSTANTIATE_TEST_SUITE_P(Sets, KernelSet, ::testing::ValuesIn(names()), [](const auto& name) { return name.param; });

}  // namespace
}  // namespace blindfl::he::lattice::kernels_test
