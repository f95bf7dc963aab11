// What least squares make of Z and B's own features, and that they make nothing of a share of Z.

#include <gtest/gtest.h>

#include <iostream>

#include "blindfl/base/error.h"
#include "blindfl/lab/attacks/attack_regression.h"
#include "blindfl/lab/attacks/recorded_view.h"
#include "blindfl/lab/local_model.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/share/share_matrix.h"
#include "made_up/synthetic.h"

namespace blindfl::lab::attacks::regression_test {
namespace {

using torch::Tensor;
using torch::indexing::Slice;

constexpr std::size_t kRows = 1000;
constexpr std::size_t kOut = 8;
constexpr std::int64_t kColumnsA = 6;

/// Made-up people, and Z of a source layer with random weights.
class Regression : public ::testing::Test {
 protected:
  Tensor all_ = lab::features_tensor(
                    made_up::make_synthetic({.rows = kRows, .columns_a = kColumnsA, .columns_b = 5, .seed = 3}).joined)
                    .to(torch::kFloat64);
  Tensor a_ = all_.index({Slice(), Slice(0, kColumnsA)});
  Tensor b_ = all_.index({Slice(), Slice(kColumnsA)});
  torch::Generator random_ = at::detail::createCPUGenerator(9);
  Tensor contribution_ = torch::mm(a_, normal(kColumnsA));
  /// As it is opened, with 16 fractional bits.
  ShareMatrix z_ = encode_ring(kRows, kOut, nn::to_vector(contribution_ + torch::mm(b_, normal(5))), 16, 32768.0);

  Tensor normal(std::int64_t rows) {
    return torch::randn({rows, static_cast<std::int64_t>(kOut)}, random_, torch::dtype(torch::kFloat64));
  }
  Tensor shuffled(const Tensor& rows) {
    return rows.index_select(0, torch::randperm(rows.size(0), random_, torch::dtype(torch::kInt64)));
  }
  /// What the attack makes of a view, against truths that may have been shuffled.
  struct Result {
    Nearness contribution;
    Nearness columns;
    std::size_t mixed = 0;
  };
  [[nodiscard]] Result attacked(const char* name, const Tensor& view, const Tensor& contribution,
                                const Tensor& a) const {
    const Tensor estimate = attack_regression(view, b_);
    const Result result{correlation_with(estimate, contribution, b_), correlation_of_columns(estimate, a, b_),
                        columns_mixed(estimate, a, b_)};
    std::cout << name << ": correlation with X_A W_A " << result.contribution.value << " (chance "
              << result.contribution.chance << "), with A's columns " << result.columns.value << " (chance "
              << result.columns.chance << "), " << result.mixed << " of " << a.size(1) << " columns mixed\n";
    return result;
  }
  // Means of 8 and of 6 correlations: a quarter and a tenth of them from one draw to the next.
  static void expect_chance(const Result& result) {
    EXPECT_LT(result.contribution.value, 2.5 * result.contribution.chance);
    EXPECT_LT(result.columns.value, 1.6 * result.columns.chance);
    EXPECT_EQ(result.mixed, 0U);
  }
};

TEST_F(Regression, OfAnOpenZGivesWhatAContributes) {
  const Result result = attacked("Z", numbers_of(z_), contribution_, a_);
  EXPECT_GT(result.contribution.value, 0.9999);
  EXPECT_GT(result.columns.value, 0.9999);
  EXPECT_EQ(result.mixed, static_cast<std::size_t>(kColumnsA));
  EXPECT_LT(result.contribution.chance, 0.05);
  EXPECT_LT(result.columns.chance, 0.1);
}

TEST_F(Regression, OfFewerOutputsThanColumnsGivesTheContributionAndNotTheColumns) {
  const Tensor view = numbers_of(z_).index({Slice(), Slice(0, 2)});
  const Result result = attacked("two outputs of Z", view, contribution_.index({Slice(), Slice(0, 2)}), a_);
  EXPECT_GT(result.contribution.value, 0.9999);
  EXPECT_LT(result.columns.value, 0.9);
  EXPECT_EQ(result.mixed, 0U);
}

TEST_F(Regression, OfAShareGivesNothing) {
  Random random;
  for (const int ring_bits : {128, 52, 32}) {
    const auto [at_a, at_b] = split(narrowed(z_, ring_bits), random);
    for (const ShareMatrix* share : {&at_a, &at_b})
      expect_chance(attacked("a share", numbers_of(*share), contribution_, a_));
    // The same numbers as soon as they are added up.
    EXPECT_GT(attacked("both shares", numbers_of(open(at_a, at_b)), contribution_, a_).contribution.value, 0.9999);
  }
}

TEST_F(Regression, FindsNothingInRowsOfOthers) {
  expect_chance(attacked("Z against shuffled rows", numbers_of(z_), shuffled(contribution_), shuffled(a_)));
  expect_chance(attacked("shuffled Z", shuffled(numbers_of(z_)), contribution_, a_));
}

TEST_F(Regression, RefusesShapesThatDiffer) {
  EXPECT_THROW((void)attack_regression(torch::zeros({3, 2}), torch::zeros({4, 1})), InvalidArgument);
  EXPECT_THROW((void)attack_regression(torch::zeros({3, 2}), torch::randn({3, 5})), InvalidArgument);
  EXPECT_THROW((void)correlation_with(torch::zeros({9, 2}), torch::zeros({9, 3}), torch::zeros({9, 1})),
               InvalidArgument);
}

}  // namespace
}  // namespace blindfl::lab::attacks::regression_test
