// Every set of kernels' transforms against schoolbook products, and against each other.

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "blindfl/base/aligned.h"
#include "blindfl/base/error.h"
#include "blindfl/base/int128.h"
#include "blindfl/base/random.h"
#include "blindfl/he/lattice/kernels.h"
#include "he/lattice/kernel_set.h"

namespace blindfl::he::lattice::transforms_test {
namespace {

using Values = AlignedVector<std::uint64_t>;

class KernelTransforms : public AnyKernels {};

/// What makes lazy values grow. Every stage adds a product by a root to the first one, reduced with a quotient that is
/// computed as doubles: of a thousand factors, that whose rounded quotient leaves the most.
Values growing_values(const Modulus& m) {
  SeededRandom random{4};
  Values values(m.degree(), 0);
  values[0] = m.value() - 1;
  for (std::size_t groups = 1; groups < m.degree(); groups *= 2) {
    double most = 0;
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t y = random.below(m.value());
      const auto quotient =
          static_cast<std::uint64_t>(std::nearbyint(static_cast<double>(y) * m.roots().real_quotient[groups]));
      const UInt128 product = static_cast<UInt128>(y) * m.roots().value[groups];
      const auto left =
          static_cast<double>(static_cast<std::int64_t>(product - static_cast<UInt128>(quotient) * m.value()));
      if (left <= most) continue;
      most = left;
      values[m.degree() / (2 * groups)] = y;
    }
  }
  return values;
}

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

TEST_P(KernelTransforms, TransformsTurnPolynomialProductsIntoPointwiseOnes) {
  for (const std::size_t degree :
       {std::size_t{64}, std::size_t{128}, std::size_t{256}, std::size_t{512}, std::size_t{1024}}) {
    for (const int bits : {20, 35, 48, 49, 50}) {
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

TEST_P(KernelTransforms, AgreesWithThePortableOneAtEveryDegreeThatMayBeShipped) {
  const Kernels& portable = portable_kernels();
  for (const auto& [degree, bits] : std::vector<std::pair<std::size_t, int>>{{2048, 50},
                                                                             {4096, 35},
                                                                             {4096, 50},
                                                                             {8192, 35},
                                                                             {8192, 48},
                                                                             {8192, 49},
                                                                             {8192, 50},
                                                                             {16384, 50},
                                                                             {32768, 50}}) {
    const Modulus m(largest_primes(bits, 1, degree)[0], degree);
    const Values growing = growing_values(m);
    Values edges(degree);  // from one end of the range to the other
    for (auto& v : edges) v = random_.below(2) * (m.value() - 1);
    for (const Values& start : {random_values(degree, m), growing, edges, Values(degree, m.value() - 1),
                                Values(degree, 0), Values(degree, 1)}) {
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

TEST_P(KernelTransforms, APolynomialInAPowerOfXIsConstantOnBlocks) {
  // What makes transforms of the private matrix short: in x^8, only every eighth value differs.
  const Modulus m(largest_primes(50, 1, 512)[0], 512);
  Values a(512, 0);
  for (std::size_t i = 0; i < 512; i += 8) a[i] = random_.below(m.value());
  kernels_.forward(a.data(), m);
  for (std::size_t i = 0; i < 512; ++i) EXPECT_EQ(a[i], a[i / 8 * 8]);
}

TEST_P(KernelTransforms, ShortTransformsAreTheDifferentValuesOfWholeOnes) {
  for (const std::size_t count : {std::size_t{8}, std::size_t{64}, std::size_t{128}, std::size_t{256}}) {
    const std::size_t degree = 1024;
    const Modulus m(largest_primes(50, 1, degree)[0], degree);
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

TEST_P(KernelTransforms, SomeCoefficientsOfAnInverseTransformAreThoseOfTheWhole) {
  for (const auto& [degree, bits] : std::vector<std::pair<std::size_t, int>>{
           {64, 50}, {128, 35}, {512, 50}, {1024, 49}, {4096, 20}, {4096, 44}, {4096, 50}, {8192, 50}}) {
    const Modulus m(largest_primes(bits, 1, degree)[0], degree);
    const Values factors = random_values(degree, m);
    for (std::size_t stride = 8; stride <= degree / 8; stride *= 2) {
      const SparseInverse plain(m, stride, 1);
      const SparseInverse times_radix(m, stride, m.to_montgomery(1));
      const SparseInverse times_factors(m, stride, 1, factors);
      ASSERT_EQ(plain.count(), degree / stride);
      for (const Values& values : {random_values(degree, m), Values(degree, m.value() - 1)}) {
        Values whole = values;
        portable_kernels().inverse(whole.data(), m, m.last_stage());
        Values product(degree);
        for (std::size_t i = 0; i < degree; ++i) product[i] = m.multiply(values[i], factors[i]);
        portable_kernels().inverse(product.data(), m, m.last_stage());
        Values some(plain.count());
        Values radix(plain.count());
        Values folded(plain.count());
        kernels_.inverse_sparse(some.data(), values.data(), plain, m);
        kernels_.inverse_sparse(radix.data(), values.data(), times_radix, m);
        kernels_.inverse_sparse(folded.data(), values.data(), times_factors, m);
        for (std::size_t k = 0; k < plain.count(); ++k) {
          const std::size_t i = stride * k + stride - 1;
          ASSERT_EQ(some[k], whole[i]) << "degree " << degree << ", " << bits << " bits, stride " << stride;
          ASSERT_EQ(radix[k], m.to_montgomery(whole[i]));
          ASSERT_EQ(folded[k], product[i]);
        }
      }
    }
  }
}

TEST(SparseInverse, RefusesStridesAndFactorsThatDoNotFit) {
  const Modulus m(largest_primes(50, 1, 128)[0], 128);
  EXPECT_NO_THROW(SparseInverse(m, 8, 1));
  EXPECT_NO_THROW(SparseInverse(m, 16, 1));
  for (const std::size_t stride : {std::size_t{0}, std::size_t{4}, std::size_t{12}, std::size_t{32}}) {
    EXPECT_THROW(SparseInverse(m, stride, 1), InvalidArgument) << stride;
  }
  EXPECT_THROW(SparseInverse(m, 8, 1, Values(64, 1)), InvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Sets, KernelTransforms, ::testing::ValuesIn(kernel_names()),
                         [](const auto& name) { return name.param; });

}  // namespace
}  // namespace blindfl::he::lattice::transforms_test
