// Encryptions that were begun before there was anything to encrypt: they are as good as any, and used once.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <set>
#include <thread>

#include "he/lattice/probes.h"
#include "testing/matrices.h"

namespace blindfl::he::lattice::prepared_operand_test {
namespace {

constexpr std::uint64_t kBound = 1 << 20;

ProductSpec spec_of(std::size_t rows, std::size_t inner, std::size_t cols) {
  return {.rows = rows, .inner = inner, .cols = cols, .left_bound = kBound, .ring_bits = 64, .noise_bits = 40};
}

Bytes seed_of(const Bytes& operand) {
  return {operand.begin() + sizeof(KeyId), operand.begin() + sizeof(KeyId) + sizeof(Seed)};
}

TEST(PreparedOperand, IsRightHoweverManyTilesWereMadeAhead) {
  for (const Kernels* kernels : available_kernels()) {
    for (const ParamsSpec& set : parameter_sets()) {
      Lab lab(set, *kernels);
      const auto plan = lab.plan(spec_of(20, 300, 20));
      const std::size_t tiles = plan->tiling().inner_tiles * plan->tiling().col_tiles;
      ASSERT_GE(tiles, 2U);
      const ShareMatrix m = random_share(300, 20, 0, lab.random(), 64);
      SeededRandom test_random(3);
      const IntMatrix x = testing::random_matrix(IntMatrix::Kind::kDense, 20, 300, 0, kBound, test_random);
      lab.owner().expect(*plan);
      for (const std::size_t ahead : {std::size_t{0}, std::size_t{1}, tiles - 1, tiles}) {
        for (std::size_t i = 0; i < ahead; ++i) EXPECT_TRUE(lab.owner().prepare());
        EXPECT_EQ(lab.owner().prepare(), ahead < tiles) << "no more than are expected";
        const auto operand = lab.load(*plan, lab.encrypt(*plan, m));
        const Lab::Reply reply = lab.multiply(*plan, x, *operand);
        const ShareMatrix sum = lab.open(*plan, reply.bytes) + reply.kept;
        for (const double e : errors_of(sum, blindfl::multiply(x, m))) ASSERT_LE(std::abs(e), plan->largest_error());
      }
    }
  }
}

// What is left of an operand is not used for the next one: under one seed two of them would differ by their errors.
TEST(PreparedOperand, IsUsedOnce) {
  Lab lab(parameter_sets()[0]);
  const auto plan = lab.plan(spec_of(20, 300, 20));
  const auto smaller = lab.plan(spec_of(20, 10, 20));
  const ShareMatrix m = random_share(300, 20, 0, lab.random(), 64);
  EXPECT_FALSE(lab.owner().prepare()) << "nothing is expected yet";
  lab.owner().expect(*plan);
  lab.owner().expect(*plan);
  std::set<Bytes> seeds;
  for (int i = 0; i < 8; ++i) {
    for (int k = 0; k < 3 * i; ++k) (void)lab.owner().prepare();
    EXPECT_TRUE(seeds.insert(seed_of(lab.encrypt(*plan, m))).second) << i;
    EXPECT_TRUE(seeds.insert(seed_of(lab.encrypt(*smaller, random_share(10, 20, 0, lab.random(), 64)))).second) << i;
  }
}

TEST(PreparedOperand, HasFreshErrors) {
  Lab lab(parameter_sets()[0]);
  const auto plan = lab.plan(spec_of(60, 62, 1));
  ASSERT_EQ(plan->tiling().inner_tiles * plan->tiling().col_tiles, 1U);
  lab.owner().expect(*plan);
  const std::size_t n = lab.params()->degree();
  const Modulus& m = lab.params()->moduli()[0];
  const std::uint64_t one_over_radix = m.inverse(m.power(2, Modulus::kRadixBits));
  std::vector<std::int64_t> last;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(lab.owner().prepare());
    const auto loaded = lab.load(*plan, lab.encrypt(*plan, ShareMatrix(62, 1, 0, 64)));
    const auto& operand = dynamic_cast<const LatticeOperand&>(*loaded);
    const std::uint64_t* c0 = operand.values.data() + operand.offset(0, 0, 0, 0);
    const std::uint64_t* c1 = operand.values.data() + operand.offset(0, 0, 0, 1);
    Residues sum(n);
    for (std::size_t k = 0; k < n; ++k)
      sum[k] = m.add(c0[k], m.multiply(c1[k], m.multiply(lab.key().s[k], one_over_radix)));
    const auto errors = coefficients(*lab.params(), lab.kernels(), sum, 0);
    double squares = 0;
    for (const std::int64_t e : errors) {
      ASSERT_LE(std::abs(e), Params::kErrorBound);
      squares += static_cast<double>(e * e);
    }
    EXPECT_NEAR(squares / static_cast<double>(n), 10.5, 1.5);
    EXPECT_NE(errors, last) << "drawn anew for each";
    last = errors;
  }
}

TEST(PreparedOperand, TakesNoMoreMemoryThanIsAllowed) {
  Lab lab(parameter_sets()[0]);
  const auto plan = lab.plan(spec_of(1, 4096 * 70, 1));
  ASSERT_GT(plan->tiling().inner_tiles * plan->tiling().col_tiles, 64U);
  lab.owner().expect(*plan);
  EXPECT_FALSE(lab.owner().prepare());
}

// While a party waits, another thread of it may encrypt.
TEST(PreparedOperand, IsMadeOnAnyThread) {
  Lab lab(parameter_sets()[0]);
  const auto plan = lab.plan(spec_of(20, 300, 20));
  const ShareMatrix m = random_share(300, 20, 0, lab.random(), 64);
  SeededRandom test_random(4);
  const IntMatrix x = testing::random_matrix(IntMatrix::Kind::kDense, 20, 300, 0, kBound, test_random);
  for (int i = 0; i < 3; ++i) lab.owner().expect(*plan);
  std::atomic<bool> done = false;
  std::thread preparing([&] {
    while (!done) (void)lab.owner().prepare();
  });
  std::set<Bytes> seeds;
  for (int i = 0; i < 20; ++i) {
    const Bytes bytes = lab.encrypt(*plan, m);
    EXPECT_TRUE(seeds.insert(seed_of(bytes)).second);
    const Lab::Reply reply = lab.multiply(*plan, x, *lab.load(*plan, bytes));
    const ShareMatrix sum = lab.open(*plan, reply.bytes) + reply.kept;
    for (const double e : errors_of(sum, blindfl::multiply(x, m))) EXPECT_LE(std::abs(e), plan->largest_error());
  }
  done = true;
  preparing.join();
}

}  // namespace
}  // namespace blindfl::he::lattice::prepared_operand_test
