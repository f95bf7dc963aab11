// Split learning computes what training on all columns at one place does, and A really gets the derivatives.

#include "blindfl/lab/baselines/split_learning.h"

#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "blindfl/lab/local_model.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/run/metrics.h"
#include "lab/vertical_rows.h"

namespace blindfl::lab::baselines::split_learning_test {
namespace {

using torch::Tensor;

constexpr std::size_t kRows = 900;

TrainAndTest numeric() {
  return numeric_rows({.rows = kRows, .columns_a = 6, .columns_b = 5, .seed = 3});
}
SplitSpec spec_of(const TrainAndTest& rows) {
  return {.in_a = rows.train.a.numeric.cols(), .in_b = rows.train.b.numeric.cols()};
}
train::TrainOptions one_batch(std::size_t epochs) {
  return {.epochs = epochs, .batch = kRows, .sgd = {.learning_rate = 0.5}};
}

double auc_of(const Tensor& scores, const std::vector<double>& labels) {
  return run::auc(nn::to_vector(scores), labels);
}

double largest_difference(const Tensor& a, const Tensor& b) {
  return (a - b).abs().max().item<double>();
}

TEST(SplitLearning, GivesAExactlyTheDerivativesOfTheMeanLoss) {
  const TrainAndTest rows = numeric();
  const SplitRun before = run_split_learning(rows.train, rows.train, spec_of(rows), one_batch(0));
  const SplitRun after = run_split_learning(rows.train, rows.train, spec_of(rows), one_batch(1));
  ASSERT_TRUE(before.derivatives.empty());
  ASSERT_EQ(after.derivatives.size(), 1U);
  const Tensor labels = nn::to_tensor(rows.train.b.labels).unsqueeze(1);
  const Tensor expected = (torch::sigmoid(before.scores) - labels) / static_cast<double>(labels.size(0));
  EXPECT_LT(largest_difference(after.derivatives.front().contribution, expected), 1e-7);
  EXPECT_FALSE(after.derivatives.front().embeddings.defined());
}

TEST(SplitLearning, LetsALearnByThem) {
  const TrainAndTest rows = numeric();
  const SplitRun before = run_split_learning(rows.train, rows.test, spec_of(rows), one_batch(0));
  const SplitRun after = run_split_learning(rows.train, rows.test, spec_of(rows), one_batch(1));
  const Tensor features = features_tensor(rows.train.a.numeric);
  const Tensor step = 0.5 * torch::mm(features.t(), after.derivatives.front().contribution);
  EXPECT_GT(largest_difference(before.weight, after.weight), 1e-3);
  EXPECT_LT(largest_difference(before.weight - step, after.weight), 1e-6);
  const Tensor contribution = torch::mm(features_tensor(rows.test.a.numeric), after.weight);
  EXPECT_LT(largest_difference(after.contribution, contribution), 1e-5);
}

TEST(SplitLearning, IsAsGoodAsTrainingOnAllColumns) {
  const made_up::SyntheticSpec spec{.rows = kRows, .columns_a = 6, .columns_b = 5, .seed = 3};
  const TrainAndTest rows = numeric_rows(spec);
  const train::TrainOptions options{.epochs = 12, .batch = 64, .sgd = {.learning_rate = 0.1, .momentum = 0.9}};
  const SplitRun split = run_split_learning(rows.train, rows.test, spec_of(rows), options);
  std::vector<std::uint32_t> train(kRows * 2 / 3);
  std::iota(train.begin(), train.end(), 0U);
  std::vector<std::uint32_t> test(kRows - train.size());
  std::iota(test.begin(), test.end(), static_cast<std::uint32_t>(train.size()));
  const data::Table joined = made_up::make_synthetic(spec).joined;
  LocalModel local(11, std::vector<std::size_t>{}, 1);
  fit(local, Family::kLogistic, joined.select_rows(train), options);
  const Tensor scores = score(local, joined.select_rows(test));
  // Logistic regression has one optimum, wherever it starts.
  EXPECT_LT(largest_difference(split.scores, scores), 0.05);
  EXPECT_GT(auc_of(split.scores, rows.test.b.labels), 0.8);
}

TEST(SplitLearning, LearnsWithEmbeddingsAndHiddenLayers) {
  const TrainAndTest rows = categorical_rows({.rows = kRows, .interaction = 0.2, .seed = 5});
  SplitSpec spec = spec_of(rows);
  spec.fields = rows.fields;
  spec.hidden = {16, 8};
  const train::TrainOptions options{.epochs = 3, .batch = 64, .sgd = {.learning_rate = 0.05, .momentum = 0.9}};
  const SplitRun run = run_split_learning(rows.train, rows.test, spec, options);
  EXPECT_GT(auc_of(run.scores, rows.test.b.labels), 0.65);
  ASSERT_EQ(run.derivatives.size(), 3U);
  const auto fields = static_cast<std::int64_t>(rows.fields.a.size());
  EXPECT_EQ(run.derivatives.back().embeddings.sizes(), (std::vector<std::int64_t>{600, fields * 8}));
  EXPECT_EQ(run.derivatives.back().contribution.sizes(), (std::vector<std::int64_t>{600, 1}));
  ASSERT_EQ(run.tables.size(), rows.fields.a.size());
  EXPECT_EQ(run.tables.front().size(0), static_cast<std::int64_t>(rows.fields.a.front().categories));
}

TEST(SplitLearning, RefusesAPartyAWithoutFeatures) {
  const TrainAndTest rows = numeric();
  EXPECT_THROW((void)run_split_learning(rows.train, rows.test, {.in_b = 5}, one_batch(1)), InvalidArgument);
  SplitSpec without_layers = spec_of(rows);
  without_layers.fields.a = {{.name = "f", .categories = 3}};
  EXPECT_THROW((void)run_split_learning(rows.train, rows.test, without_layers, one_batch(1)), InvalidArgument);
}

}  // namespace
}  // namespace blindfl::lab::baselines::split_learning_test
