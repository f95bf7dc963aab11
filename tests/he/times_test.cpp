// What schemes expect a product to take: the planner compares it, so it must follow the shape and the non-zero values.

#include <gtest/gtest.h>

#include "testing/schemes.h"

namespace blindfl::he::times_test {
namespace {

class ExpectedTimes : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Scheme> scheme_ = testing::make_scheme(GetParam());

  [[nodiscard]] static ProductSpec spec(std::size_t rows, std::size_t inner, std::size_t cols, std::uint64_t bound) {
    return {.rows = rows,
            .inner = inner,
            .cols = cols,
            .left_bound = bound,
            .left_scale = 16,
            .right_scale = 32,
            .right_bits = 64,
            .ring_bits = 80,
            .noise_bits = 30};
  }
  [[nodiscard]] ProductTimes times(std::size_t rows, std::size_t inner, std::size_t cols, double nonzeros) const {
    return scheme_->plan(spec(rows, inner, cols, 1 << 20))->times(nonzeros);
  }
};
INSTANTIATE_TEST_SUITE_P(Schemes, ExpectedTimes, ::testing::Values("lattice", "paillier_2048"),
                         [](const auto& p) { return p.param; });

TEST_P(ExpectedTimes, ArePositiveAndOfEveryStep) {
  const ProductTimes t = times(128, 62, 1, 128 * 62);
  for (const double seconds : {t.encrypt, t.load, t.multiply, t.open}) {
    EXPECT_GT(seconds, 1e-6);
    EXPECT_LT(seconds, 1.0);
  }
}

TEST_P(ExpectedTimes, GrowWithTheMatrices) {
  const ProductTimes small = times(128, 62, 1, 128 * 62);
  const ProductTimes large = times(1024, 392, 256, 1024 * 392);
  EXPECT_GT(large.encrypt, 5 * small.encrypt);
  EXPECT_GT(large.load, 5 * small.load);
  EXPECT_GT(large.multiply, 5 * small.multiply);
  EXPECT_GT(large.open, 5 * small.open);
}

TEST_P(ExpectedTimes, AreLessForMultiplyingWhereValuesAreZero) {
  const std::size_t inner = 100000;
  const ProductTimes dense = times(128, inner, 1, 128.0 * inner);
  const ProductTimes sparse = times(128, inner, 1, 128.0 * 7);
  EXPECT_LT(sparse.multiply, 0.8 * dense.multiply);
  EXPECT_GT(sparse.multiply, times(128, inner, 1, 0).multiply);
  EXPECT_EQ(sparse.encrypt, dense.encrypt) << "what is encrypted must not tell what is zero";
  EXPECT_EQ(sparse.open, dense.open);
}

TEST_P(ExpectedTimes, KnowWhatAnEncryptedMatrixTakesInMemory) {
  const auto plan = scheme_->plan(spec(128, 3000, 2, 1));
  EXPECT_GT(plan->operand_memory(), plan->operand_bytes());
  EXPECT_LT(plan->operand_memory(), 3 * plan->operand_bytes());
}

}  // namespace
}  // namespace blindfl::he::times_test
