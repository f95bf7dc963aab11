// Weights beside A's shares of them: with our layers a share says nothing of its coordinate.

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "blindfl/base/error.h"
#include "blindfl/lab/attacks/compare_shares.h"
#include "blindfl/lab/attacks/paper_attacks.h"
#include "blindfl/lab/baselines/shared_weights.h"
#include "lab/vertical_rows.h"
#include "testing/plain/plain_scheme.h"

namespace blindfl::lab::attacks::shares_test {
namespace {

using torch::Tensor;

double in_chances(const ShareLikeness& likeness, const Tensor& weights) {
  return std::abs(likeness.correlation) * std::sqrt(static_cast<double>(weights.numel()));
}

TEST(ShareLikeness, IsThatOfTwoColumnsOfNumbers) {
  const Tensor weights = torch::tensor({1.0, -2.0, 3.0, -4.0}, torch::kFloat64);
  const ShareLikeness same = compare_shares(1e30 * weights, weights);
  EXPECT_NEAR(same.correlation, 1, 1e-12);
  EXPECT_DOUBLE_EQ(same.equal_signs, 1);
  EXPECT_NEAR(same.share_size / same.weight_size, 1e30, 1e18);
  const ShareLikeness opposite = compare_shares(-weights, weights);
  EXPECT_NEAR(opposite.correlation, -1, 1e-12);
  EXPECT_DOUBLE_EQ(opposite.equal_signs, 0);
  EXPECT_THROW((void)compare_shares(weights, weights.view({2, 2})), InvalidArgument);
  EXPECT_THROW((void)compare_shares(weights.narrow(0, 0, 1), weights.narrow(0, 0, 1)), InvalidArgument);
}

TEST(ShareLikeness, IsNoneOfOurWeightsAndTables) {
  const TrainAndTest rows =
      categorical_rows({.rows = 600, .columns_a = 40, .fields_a = {{.name = "a1", .categories = 40}}, .seed = 5});
  const DerivativeFigure figure{.training = {.epochs = 2, .batch = 128, .sgd = {.learning_rate = 0.1}}};
  const auto pairs = weights_and_shares(testing::PlainScheme(), rows.train, rows.fields, figure);
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[0].name, "W_A and U_A");
  EXPECT_EQ(pairs[1].name, "Q_A and S_A, field a1");
  EXPECT_EQ(pairs[0].weights.numel(), 40);
  EXPECT_EQ(pairs[1].weights.numel(), 40 * 8);
  for (const WeightsAndShares& pair : pairs) {
    std::cout << pair.name << ": correlation " << pair.likeness.correlation << ", equal signs "
              << pair.likeness.equal_signs << ", sizes " << pair.likeness.weight_size << " and "
              << pair.likeness.share_size << "\n";
    EXPECT_LT(in_chances(pair.likeness, pair.weights), 5);
    EXPECT_NEAR(pair.likeness.equal_signs, 0.5, 2.5 / std::sqrt(static_cast<double>(pair.weights.numel())));
    EXPECT_GT(pair.likeness.share_size, 1000 * pair.likeness.weight_size);
  }
}

// The weights learn much more than was drawn at first, and A sees all of it.
TEST(ShareLikeness, IsGreatWithoutSharedGradients) {
  const TrainAndTest rows = numeric_rows({.rows = 900, .columns_a = 40, .columns_b = 5, .seed = 3});
  const auto run = baselines::run_shared_weights(
      testing::PlainScheme(), rows.train, rows.test, {.parts = baselines::SharedParts::kWeights},
      {.epochs = 6, .batch = 64, .sgd = {.learning_rate = 0.1, .momentum = 0.9}});
  const ShareLikeness likeness = compare_shares(run.share, run.weight);
  std::cout << "ModelSS alone: correlation " << likeness.correlation << ", equal signs " << likeness.equal_signs
            << "\n";
  EXPECT_GT(likeness.correlation, 0.8);
  EXPECT_GT(likeness.equal_signs, 0.75);
}

}  // namespace
}  // namespace blindfl::lab::attacks::shares_test
