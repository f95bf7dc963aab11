#include "made_up/synthetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "testing/ranking.h"

namespace blindfl::made_up::synthetic_test {
namespace {

using data::Table;

using testing::auc;
using testing::deviation;
using testing::mean;

/// The scores of one output from the columns begin, ..., end - 1.
std::vector<double> scores(const SyntheticData& data, std::size_t begin, std::size_t end, std::size_t output = 0) {
  const std::size_t outputs = data.truth.size() / data.joined.cols();
  std::vector<double> result(data.joined.rows());
  for (std::size_t r = 0; r < result.size(); ++r) {
    data.joined.for_each_in_row(r, [&](std::size_t c, double value) {
      if (c >= begin && c < end) result[r] += value * data.truth[c * outputs + output];
    });
  }
  return result;
}

TEST(Synthetic, IsTheSameForTheSameSeedOnly) {
  for (const double density : {1.0, 0.3}) {
    const SyntheticSpec spec{.rows = 50, .density = density, .seed = 7};
    const SyntheticData one = make_synthetic(spec);
    const SyntheticData two = make_synthetic(spec);
    EXPECT_EQ(one.joined.to_dense(), two.joined.to_dense());
    EXPECT_EQ(one.joined.labels(), two.joined.labels());
    EXPECT_EQ(one.truth, two.truth);
    SyntheticSpec other = spec;
    other.seed = 8;
    EXPECT_NE(one.joined.to_dense(), make_synthetic(other).joined.to_dense());
    EXPECT_NE(one.truth, make_synthetic(other).truth);
  }
}

TEST(Synthetic, GrowsByRowsWithoutChangingTheFirst) {
  for (const Task task : {Task::kBinary, Task::kMulticlass, Task::kRegression, Task::kCount}) {
    SyntheticSpec spec{.rows = 20, .density = 0.4, .task = task};
    const SyntheticData few = make_synthetic(spec);
    spec.rows = 40;
    const SyntheticData many = make_synthetic(spec);
    std::vector<std::uint32_t> first(20);
    std::iota(first.begin(), first.end(), 0U);
    EXPECT_EQ(few.truth, many.truth);
    EXPECT_EQ(few.joined.to_dense(), many.joined.select_rows(first).to_dense());
    EXPECT_EQ(few.joined.labels(), many.joined.select_rows(first).labels());
  }
}

TEST(Synthetic, HasTheShapeAndDensityAskedFor) {
  const SyntheticData dense = make_synthetic({.rows = 30, .columns_a = 3, .columns_b = 5});
  EXPECT_EQ(dense.joined.kind(), Table::Kind::kDense);
  EXPECT_EQ(dense.joined.rows(), 30U);
  EXPECT_EQ(dense.joined.cols(), 8U);
  EXPECT_EQ(dense.truth.size(), 8U);
  const SyntheticData sparse = make_synthetic({.rows = 2000, .columns_a = 40, .columns_b = 60, .density = 0.05});
  EXPECT_EQ(sparse.joined.kind(), Table::Kind::kCsr);
  // 10,000 entries expected, with a deviation of about 97.
  EXPECT_NEAR(static_cast<double>(sparse.joined.stored()), 10'000, 500);
  std::vector<double> per_column(100);
  for (std::size_t r = 0; r < 2000; ++r)
    sparse.joined.for_each_in_row(r, [&](std::size_t c, double) { ++per_column[c]; });
  for (const double count : per_column) EXPECT_NEAR(count, 100, 60);
}

TEST(Synthetic, BinaryEntriesAreOnes) {
  const SyntheticData data = make_synthetic({.rows = 100, .density = 0.2, .binary = true});
  for (std::size_t r = 0; r < 100; ++r) {
    data.joined.for_each_in_row(r, [](std::size_t, double value) { EXPECT_EQ(value, 1.0); });
  }
}

TEST(Synthetic, NeedsBothPartiesForGoodScores) {
  const std::vector<SyntheticSpec> specs = {
      {.rows = 4000, .columns_a = 10, .columns_b = 10},
      {.rows = 4000, .columns_a = 2, .columns_b = 30},
      {.rows = 4000, .columns_a = 60, .columns_b = 40, .density = 0.1},
      {.rows = 4000, .columns_a = 60, .columns_b = 60, .density = 0.1, .binary = true},
  };
  for (const SyntheticSpec& spec : specs) {
    const SyntheticData data = make_synthetic(spec);
    const std::size_t cols = data.joined.cols();
    const auto& labels = data.joined.labels();
    const double joined = auc(scores(data, 0, cols), labels);
    EXPECT_GT(joined, 0.88);
    EXPECT_GT(joined, auc(scores(data, 0, spec.columns_a), labels) + 0.05);
    EXPECT_GT(joined, auc(scores(data, spec.columns_a, cols), labels) + 0.05);
    EXPECT_NEAR(mean(labels), 0.5, 0.1);
  }
}

TEST(Synthetic, DrawsBinaryLabelsFromTheLogisticLaw) {
  const SyntheticData data = make_synthetic({.rows = 20'000});
  const std::vector<double> score = scores(data, 0, data.joined.cols());
  EXPECT_NEAR(deviation(score), 3.0, 0.1);
  // Among rows whose predicted probability falls into one tenth, that share of labels must be 1.
  std::vector<double> predicted(10);
  std::vector<double> seen(10);
  std::vector<double> count(10);
  for (std::size_t r = 0; r < score.size(); ++r) {
    const double p = 1 / (1 + std::exp(-score[r]));
    const auto bin = std::min<std::size_t>(static_cast<std::size_t>(p * 10), 9);
    predicted[bin] += p;
    seen[bin] += data.joined.labels()[r];
    ++count[bin];
  }
  for (std::size_t bin = 0; bin < 10; ++bin) EXPECT_NEAR(seen[bin] / count[bin], predicted[bin] / count[bin], 0.06);
}

TEST(Synthetic, DrawsClassesFromTheSoftmax) {
  const SyntheticData data = make_synthetic({.rows = 20'000, .task = Task::kMulticlass, .classes = 4});
  ASSERT_EQ(data.truth.size(), data.joined.cols() * 4);
  std::vector<std::vector<double>> score;
  for (std::size_t k = 0; k < 4; ++k) score.push_back(scores(data, 0, data.joined.cols(), k));
  for (std::size_t k = 0; k < 4; ++k) {
    double expected = 0;
    double together = 0;
    double squares = 0;
    for (std::size_t r = 0; r < data.joined.rows(); ++r) {
      double total = 0;
      for (const auto& s : score) total += std::exp(s[r]);
      const double p = std::exp(score[k][r]) / total;
      expected += p;
      squares += p * p;
      together += data.joined.labels()[r] == static_cast<double>(k) ? p : 0;
    }
    const auto seen = static_cast<double>(std::ranges::count(data.joined.labels(), static_cast<double>(k)));
    EXPECT_NEAR(seen / expected, 1, 0.05);
    // E[label is k, weighted by p] = E[p^2] only if the labels follow the probabilities row by row.
    EXPECT_NEAR(together / squares, 1, 0.05);
  }
}

TEST(Synthetic, RegressionLabelsAreScoresPlusNoise) {
  SyntheticSpec spec{.rows = 5000, .task = Task::kRegression};
  const SyntheticData exact = make_synthetic(spec);
  const std::vector<double> score = scores(exact, 0, exact.joined.cols());
  for (std::size_t r = 0; r < score.size(); ++r) ASSERT_NEAR(exact.joined.labels()[r], score[r], 1e-9);
  spec.noise = 0.5;
  const SyntheticData noisy = make_synthetic(spec);
  std::vector<double> residual(score.size());
  for (std::size_t r = 0; r < score.size(); ++r) residual[r] = noisy.joined.labels()[r] - score[r];
  EXPECT_NEAR(mean(residual), 0, 0.05);
  EXPECT_NEAR(deviation(residual), 0.5, 0.03);
}

TEST(Synthetic, CountsArePoisson) {
  const SyntheticData data = make_synthetic({.rows = 20'000, .task = Task::kCount});
  const std::vector<double> score = scores(data, 0, data.joined.cols());
  double expected = 0;
  double squared_errors = 0;
  for (std::size_t r = 0; r < score.size(); ++r) {
    const double label = data.joined.labels()[r];
    ASSERT_EQ(label, std::floor(label));
    ASSERT_GE(label, 0);
    expected += std::exp(score[r]);
    squared_errors += std::pow(label - std::exp(score[r]), 2);
  }
  EXPECT_NEAR(mean(data.joined.labels()) * 20'000 / expected, 1, 0.05);
  // A Poisson number varies as much as its mean.
  EXPECT_NEAR(squared_errors / expected, 1, 0.08);
}

TEST(Synthetic, WorksWithOnePartyOrOneColumnOrNoRows) {
  EXPECT_EQ(make_synthetic({.columns_a = 0, .columns_b = 4}).truth.size(), 4U);
  EXPECT_EQ(make_synthetic({.columns_a = 4, .columns_b = 0}).truth.size(), 4U);
  const SyntheticData narrow = make_synthetic({.columns_a = 1, .columns_b = 1, .density = 0.5, .binary = true});
  for (const double w : narrow.truth) EXPECT_GT(std::abs(w), 0.1);
  EXPECT_EQ(make_synthetic({.rows = 0}).joined.rows(), 0U);
  EXPECT_EQ(make_synthetic({.rows = 5, .density = 1e-300}).joined.stored(), 0U);
}

TEST(Synthetic, RefusesSpecsThatMakeNoSense) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<std::string, SyntheticSpec>> cases = {
      {"no columns", {.columns_a = 0, .columns_b = 0}},
      {"too many columns", {.columns_a = ~std::size_t{0}, .columns_b = 2}},
      {"too many rows", {.rows = std::size_t{1} << 40}},
      {"density 0", {.density = 0}},
      {"density above 1", {.density = 1.1}},
      {"density not a number", {.density = nan}},
      {"a dense binary table", {.density = 1, .binary = true}},
      {"one class", {.task = Task::kMulticlass, .classes = 1}},
      {"negative noise", {.noise = -1}},
      {"noise not a number", {.noise = nan}},
  };
  for (const auto& [what, spec] : cases) EXPECT_THROW((void)make_synthetic(spec), InvalidArgument) << what;
}

}  // namespace
}  // namespace blindfl::made_up::synthetic_test
