// Shares add up to the product but for what their plan allows: for every set of parameters and every set of kernels,
// with ordinary values and with the largest there are, also where errors and secrets are as bad as they can be.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "he/lattice/kernel_set.h"
#include "he/lattice/probes.h"
#include "testing/matrices.h"

namespace blindfl::he::lattice::products_test {
namespace {

using Kind = IntMatrix::Kind;

constexpr std::uint64_t kBounds[] = {1, 1 << 16, std::uint64_t{1} << 62};

IntMatrix filled(std::size_t rows, std::size_t cols, std::int64_t first, std::int64_t second, std::uint64_t bound) {
  std::vector<std::int64_t> values(rows * cols);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 2 == 0 ? first : second;
  return IntMatrix::dense(rows, cols, std::move(values), 0, bound);
}

/// Matrices of a bound: none, all, alternating, one in each row, random ones, sparse ones.
std::vector<IntMatrix> left_matrices(std::size_t rows, std::size_t inner, std::uint64_t bound, SeededRandom& random) {
  const auto most = static_cast<std::int64_t>(bound);
  std::vector<IntMatrix> all{filled(rows, inner, 0, 0, bound),
                             filled(rows, inner, most, most, bound),
                             filled(rows, inner, -most, -most, bound),
                             filled(rows, inner, most, -most, bound),
                             testing::random_matrix(Kind::kDense, rows, inner, 0, bound, random),
                             testing::random_matrix(Kind::kCsr, rows, inner, 0, bound, random)};
  if (bound == 1) all.push_back(testing::random_matrix(Kind::kOneHot, rows, inner, 0, bound, random));
  return all;
}

std::vector<ShareMatrix> right_matrices(std::size_t inner, std::size_t cols, int ring_bits, Random& random) {
  std::vector<ShareMatrix> all;
  const UInt128 one = 1;
  for (const UInt128 value : {UInt128{0}, one, ~UInt128{0}, one << (ring_bits - 1), (one << (ring_bits - 1)) - 1}) {
    ShareMatrix m(inner, cols, 0, ring_bits);
    std::ranges::fill(m.values(), low_bits(value, ring_bits));
    all.push_back(std::move(m));
  }
  all.push_back(random_share(inner, cols, 0, random, ring_bits));
  return all;
}

ProductSpec spec_of(std::size_t rows, std::size_t inner, std::size_t cols, std::uint64_t bound, int ring_bits) {
  return {.rows = rows, .inner = inner, .cols = cols, .left_bound = bound, .ring_bits = ring_bits};
}

/// With as little noise as hides one value.
std::shared_ptr<const LatticePlan> plan_of(const Lab& lab, ProductSpec spec) {
  for (spec.noise_bits = 4; spec.noise_bits < spec.ring_bits; ++spec.noise_bits) {
    try {
      return lab.plan(spec);
    } catch (const InvalidArgument&) {
      continue;
    }
  }
  return nullptr;
}

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double v : values) most = std::max(most, std::abs(v));
  return most;
}

/// For right matrices first, first + step, ...
void expect_products(Lab& lab, const ProductSpec& spec, SeededRandom& random, std::size_t first = 0,
                     std::size_t step = 1) {
  const auto plan = plan_of(lab, spec);
  ASSERT_NE(plan, nullptr) << spec.describe();
  EXPECT_LT(plan->largest_error(), std::ldexp(1.0, plan->spec().noise_bits)) << "as was asked for";
  const auto right = right_matrices(spec.inner, spec.cols, spec.ring_bits, lab.random());
  for (std::size_t i = first; i < right.size(); i += step) {
    const ShareMatrix& m = right[i];
    const auto operand = lab.load(*plan, lab.encrypt(*plan, m));
    for (const IntMatrix& x : left_matrices(spec.rows, spec.inner, spec.left_bound, random)) {
      const Lab::Reply reply = lab.multiply(*plan, x, *operand);
      const ShareMatrix sum = reply.kept + lab.open(*plan, reply.bytes);
      EXPECT_LE(largest(errors_of(sum, blindfl::multiply(x, m))), plan->largest_error()) << plan->spec().describe();
    }
  }
}

class EverySet : public ::testing::TestWithParam<std::size_t> {
 protected:
  const ParamsSpec& set_ = parameter_sets()[GetParam()];
  SeededRandom seeded_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Sets, EverySet, ::testing::Range<std::size_t>(0, parameter_sets().size()),
                         [](const auto& set) { return "set_" + std::to_string(set.param); });

TEST_P(EverySet, SharesAddUpWithinThePlansBound) {
  Lab lab(set_);
  const int log_q = lab.params()->log_q();
  // One column with results that stand sparse and, few to a tile, not; several columns; several tiles each way; tiles
  // whose width is no power of two.
  const std::size_t shapes[][3] = {{1, 1, 1}, {60, 62, 1}, {9, 5, 1}, {11, 30, 7}, {40, 130, 20}, {20, 40, 96}};
  std::size_t first = GetParam();
  for (const auto& [rows, inner, cols] : shapes) {
    for (const std::uint64_t bound : kBounds) {
      const int spare = bound > 1 << 16 ? 50 : 20;
      const ProductSpec spec = spec_of(rows, inner, cols, bound, std::min(128, log_q - spare));
      expect_products(lab, spec, seeded_, ++first % 3, 3);
    }
  }
}

// So many replies that several are added up, and sent, at a time; the last of them alone.
TEST(Products, OfManyRepliesAddUp) {
  Lab lab(parameter_sets()[0]);
  SeededRandom random{7};
  const ProductSpec spec = spec_of(2080, 16, 64, 1, 60);
  const auto plan = plan_of(lab, spec);
  ASSERT_NE(plan, nullptr);
  ASSERT_GE(plan->tiling().row_tiles, 32U);
  ASSERT_EQ(plan->tiling().row_tiles % 16, 1U);
  expect_products(lab, spec, random, 5);
}

// From the narrowest ring that there is noise for to the widest, which may be wider than the modulus.
TEST_P(EverySet, SharesAddUpInRingsOfAnyWidth) {
  Lab lab(set_);
  for (const int ring_bits : {5, 6, 17, 43, 44, 63, 64, 65, 86, 87, 100, 101, 127, 128}) {
    const auto spec = spec_of(17, 9, 3, 3, ring_bits);
    expect_products(lab, spec, seeded_);
    expect_products(lab, spec_of(17, 9, 1, 3, ring_bits), seeded_);
  }
}

/// The same degree and number of primes, but a modulus below 2^128: shares show errors only where they are not smaller
/// than 2^-128.
ParamsSpec with_shorter_primes(ParamsSpec spec) {
  if (spec.prime_bits.size() > 2) std::ranges::fill(spec.prime_bits, 30);
  return spec;
}

TEST_P(EverySet, DeviationsAreWhatTheBudgetSays) {
  constexpr std::size_t kRows = 64;
  constexpr std::size_t kInner = 60;
  Lab lab(with_shorter_primes(set_));
  int cut_bits = 12;  // then of two digits
  for (const std::uint64_t bound : {std::uint64_t{1}, std::uint64_t{1} << 20, std::uint64_t{1} << 62}) {
    const ProductSpec spec = spec_of(kRows, kInner, 1, bound, lab.params()->log_q() - 75);
    const auto plan = lab.plan(spec, {.noise_word = 1, .cut = cut_bits});
    std::vector<double> nu;
    std::vector<double> cut;
    for (int i = 0; i < 40; ++i) {
      const ShareMatrix m = random_share(kInner, 1, 0, lab.random(), spec.ring_bits);
      std::vector<std::int64_t> signs;  // as large as may be, at random
      for (std::size_t k = 0; k < kRows * kInner; ++k) {
        signs.push_back(seeded_.below(2) == 0 ? static_cast<std::int64_t>(bound) : -static_cast<std::int64_t>(bound));
      }
      const IntMatrix x = IntMatrix::dense(kRows, kInner, std::move(signs), 0, bound);
      const TakenApart apart = take_apart(lab, *plan, x, m, lab.encrypt(*plan, m));
      append(nu, apart.nu);
      append(cut, apart.cut);
    }
    EXPECT_NEAR(deviation(nu) / nu_deviation(*lab.params(), plan->tiling(), spec), 1, 0.08) << bound;
    EXPECT_NEAR(deviation(cut) / cut_deviation(*lab.params(), spec, cut_bits), 1, 0.08) << bound;
    EXPECT_LE(largest(nu), largest_error(*lab.params(), plan->tiling(), spec, {.noise_word = -100}));
    EXPECT_LE(largest(cut), largest_error(*lab.params(), plan->tiling(), spec, {.noise_word = -100, .cut = cut_bits}));
    cut_bits = lab.params()->moduli()[0].bits() + 6;
  }
}

/// Kernels whose errors are all 21, and whose secrets are all 1.
Kernels worst_case() {
  Kernels kernels = *available_kernels().front();
  kernels.centred_binomial = [](std::uint64_t* words, std::size_t n) { std::fill_n(words, n, Params::kErrorBound); };
  kernels.ternary = [](std::int64_t* out, const std::uint64_t* /*words*/, std::size_t n) { std::fill_n(out, n, 1); };
  return kernels;
}

// With all of them equal, the last result of a tile has every term with the same sign.
TEST_P(EverySet, TheLargestErrorIsReachedAndNotExceeded) {
  const Kernels kernels = worst_case();
  Lab lab(with_shorter_primes(set_), kernels);
  const std::size_t n = lab.params()->degree();
  const std::size_t shapes[][2] = {{n / 64, 64}, {n / 100, 100}, {1, n}, {n, 1}, {n / 2, 2}};
  for (const auto& [rows, inner] : shapes) {
    for (const std::uint64_t bound : kBounds) {
      const ProductSpec spec = spec_of(rows, inner, 1, bound, std::min(100, lab.params()->log_q() - 30));
      const auto plan = lab.plan(spec, {.noise_word = 1});
      ShareMatrix m = random_share(inner, 1, 0, lab.random(), spec.ring_bits);
      const Bytes operand = lab.encrypt(*plan, m);
      for (const std::int64_t sign : {1, -1}) {
        const auto value = sign * static_cast<std::int64_t>(bound);
        const TakenApart apart = take_apart(lab, *plan, filled(rows, inner, value, value, bound), m, operand);
        const double most = largest_error(*lab.params(), plan->tiling(), spec, {.noise_word = -100}) - 1;
        EXPECT_LE(largest(apart.nu), most) << spec.describe();
        EXPECT_TRUE(sign < 0 || largest(apart.nu) >= 0.9 * most) << spec.describe() << largest(apart.nu) / most;
      }
    }
  }
  SeededRandom seeded(8);
  expect_products(lab, spec_of(60, 62, 1, 1 << 16, std::min(128, lab.params()->log_q() - 20)), seeded);
}

class Products : public AnyKernels {};
INSTANTIATE_TEST_SUITE_P(KernelSets, Products, ::testing::ValuesIn(kernel_names()),
                         [](const auto& set) { return set.param; });

TEST_P(Products, OfManySeedsAddUpWithinThePlansBound) {
  for (const std::size_t set : {0, 1, 4}) {
    Lab lab(parameter_sets()[set], kernels_);
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      SeededRandom random(seed, set);
      const auto up_to = [&](std::size_t most) { return 1 + static_cast<std::size_t>(random.below(most)); };
      const std::uint64_t bound = std::uint64_t{1} << random.below(63);
      const std::size_t inner = up_to(seed % 4 == 0 ? 900 : 90);
      ProductSpec spec =
          spec_of(up_to(150), inner, seed % 2 == 0 ? 1 : up_to(70), bound, std::min(128, lab.params()->log_q() - 50));
      const auto plan = plan_of(lab, spec);
      ASSERT_NE(plan, nullptr) << spec.describe();
      const ShareMatrix m = random_share(inner, spec.cols, 0, lab.random(), spec.ring_bits);
      const IntMatrix x =
          testing::random_matrix(seed % 3 == 0 ? Kind::kCsr : Kind::kDense, spec.rows, inner, 0, bound, random);
      const Lab::Reply reply = lab.multiply(*plan, x, *lab.load(*plan, lab.encrypt(*plan, m)));
      const ShareMatrix sum = reply.kept + lab.open(*plan, reply.bytes);
      EXPECT_LE(largest(errors_of(sum, blindfl::multiply(x, m))), plan->largest_error()) << "seed " << seed;
    }
  }
}

// One party's processor need not be the other's.
TEST_P(Products, AreTheSameWhateverTheKernels) {
  const auto params = std::make_shared<const Params>(parameter_sets()[0]);
  std::array<std::byte, KeyStream::kKeyBytes> key{};
  Random().fill(key);
  const Coin coin{};
  const auto everything = [&](const Kernels& kernels) {
    Random random = Random::derived(key, {});
    ThreadPool pool(1);
    const LatticeKeyOwner owner(params, kernels, coin, random);
    const LatticeMultiplier multiplier(params, kernels, coin, owner.public_key());
    std::vector<Bytes> messages{owner.public_key()};
    std::vector<ShareMatrix> shares;
    for (const std::size_t cols : {1, 9}) {
      ProductSpec spec = spec_of(40, 60, cols, 1000, 60);
      spec.noise_bits = 20;
      const auto plan = LatticePlan::choose({params}, spec);
      const ShareMatrix m = random_share(60, cols, 0, random, 60);
      SeededRandom seeded(4);
      const IntMatrix x = testing::random_matrix(Kind::kDense, 40, 60, 0, 1000, seeded);
      messages.push_back(write_to_bytes([&](ByteSink& out) { owner.encrypt(*plan, m, random, pool, out); }));
      BufferSource in(messages.back());
      const auto operand = multiplier.load(*plan, in, pool);
      messages.push_back(write_to_bytes(
          [&](ByteSink& out) { shares.push_back(multiplier.multiply(*plan, x, *operand, random, pool, out)); }));
      BufferSource reply(messages.back());
      shares.push_back(owner.open(*plan, reply, random, pool));
    }
    return std::pair{messages, shares};
  };
  EXPECT_EQ(everything(kernels_), everything(portable_kernels()));
}

}  // namespace
}  // namespace blindfl::he::lattice::products_test
