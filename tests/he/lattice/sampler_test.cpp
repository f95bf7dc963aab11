#include "blindfl/he/lattice/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "blindfl/he/lattice/params.h"

namespace blindfl::he::lattice::sampler_test {
namespace {

TEST(Sampler, TernarySecretsAreBalanced) {
  Random random;
  std::vector<std::int64_t> values(30720);
  std::vector<std::uint64_t> words(values.size());
  sample_ternary(portable_kernels(), random, values, words);
  std::map<std::int64_t, int> counts;
  for (const auto v : values) ++counts[v];
  ASSERT_EQ(counts.size(), 3U);
  // A deviation of 82.
  for (const std::int64_t v : {-1, 0, 1}) EXPECT_NEAR(counts[v], 10240, 600) << v;
}

TEST(Sampler, ErrorsAreCentredBoundedAndOfTheRightDeviation) {
  Random random;
  std::vector<std::int64_t> values(40960);
  std::vector<std::uint64_t> words(values.size());
  sample_error(portable_kernels(), random, values, words);
  double sum = 0;
  double squares = 0;
  for (const auto v : values) {
    EXPECT_LE(std::abs(v), Params::kErrorBound);
    sum += static_cast<double>(v);
    squares += static_cast<double>(v * v);
  }
  EXPECT_NEAR(sum / 40960, 0, 0.15);
  EXPECT_NEAR(squares / 40960, 10.5, 0.6);  // 42 coins, a quarter each
}

TEST(Sampler, UniformResiduesAreBelowTheModulusAndFollowFromTheSeed) {
  // A prime just above a power of two: almost half of the draws are rejected.
  std::uint64_t prime = (std::uint64_t{1} << 34) + 1;
  while (!is_prime(prime)) prime += 128;
  const Modulus m(prime, 64);
  const std::array<std::byte, KeyStream::kKeyBytes> seed{std::byte{7}};
  std::vector<std::uint64_t> first(8192);
  std::vector<std::uint64_t> second(8192);
  KeyStream a(seed);
  KeyStream b(seed);
  std::vector<std::uint64_t> words(8192);
  sample_uniform(portable_kernels(), a, m, first.data(), 64, words);
  sample_uniform(*available_kernels().front(), b, m, second.data(), 64, words);
  EXPECT_EQ(first, second);
  double sum = 0;
  for (const auto v : first) {
    ASSERT_LT(v, prime);
    sum += static_cast<double>(v) / static_cast<double>(prime);
  }
  EXPECT_NEAR(sum / 8192, 0.5, 0.02);
}

}  // namespace
}  // namespace blindfl::he::lattice::sampler_test
