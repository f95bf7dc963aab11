// Every set of kernels against schoolbook arithmetic, and against each other.

#include "blindfl/he/lattice/kernels.h"

#include <gtest/gtest.h>

#include <string>

#include "blindfl/base/error.h"
#include "blindfl/base/random.h"

namespace blindfl::he::lattice {
namespace {

using Values = std::vector<std::uint64_t>;

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
  Values out(n);
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
    for (const int bits : {20, 35, 48, 49}) {
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
      kernels_.inverse(product.data(), m);
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
      kernels_.inverse(mine.data(), m);
      ASSERT_EQ(mine, start);
      kernels_.inverse(theirs.data(), m);
      portable.inverse(theirs.data(), m);
    }
  }
}

TEST_P(KernelSet, APolynomialInAPowerOfXIsConstantOnBlocks) {
  // What makes transforms of the private matrix short: in x^8, only every eighth value differs.
  const Modulus m(largest_primes(48, 1, 512)[0], 512);
  Values a(512);
  for (std::size_t i = 0; i < 512; i += 8) a[i] = random_.below(m.value());
  kernels_.forward(a.data(), m);
  for (std::size_t i = 0; i < 512; ++i) EXPECT_EQ(a[i], a[i / 8 * 8]);
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
  for (const int bits : {35, 48, 49}) {
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
      }
    }
  }
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
}  // namespace blindfl::he::lattice
