#include "blindfl/run/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/base/random.h"

namespace blindfl::run::metrics_test {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using Values = std::vector<double>;

struct Rows {
  Values scores;
  Values labels;
  Values weights;
};

/// Scores with many ties, labels that follow them a little, whole weights from 0 to 3.
Rows random_rows(std::size_t count, std::uint64_t seed) {
  SeededRandom random(seed);
  Rows rows;
  for (std::size_t i = 0; i < count; ++i) {
    const double score = static_cast<double>(random.below(20)) / 20;
    rows.scores.push_back(score);
    rows.labels.push_back(static_cast<double>(random.below(100)) < 20 + 60 * score ? 1 : 0);
    rows.weights.push_back(static_cast<double>(random.below(4)));
  }
  return rows;
}

/// Each row as often as its weight says.
Rows repeated(const Rows& rows) {
  Rows all;
  for (std::size_t i = 0; i < rows.scores.size(); ++i) {
    for (int n = 0; n < static_cast<int>(rows.weights[i]); ++n) {
      all.scores.push_back(rows.scores[i]);
      all.labels.push_back(rows.labels[i]);
    }
  }
  return all;
}

/// By definition: over all pairs of a positive and a negative row.
double auc_of_pairs(const Rows& rows) {
  double wins = 0;
  double pairs = 0;
  for (std::size_t p = 0; p < rows.scores.size(); ++p) {
    for (std::size_t n = 0; n < rows.scores.size(); ++n) {
      if (rows.labels[p] != 1 || rows.labels[n] != 0) continue;
      pairs += 1;
      wins += rows.scores[p] > rows.scores[n] ? 1 : (rows.scores[p] == rows.scores[n] ? 0.5 : 0);
    }
  }
  return wins / pairs;
}

TEST(Auc, IsTheShareOfPairsInTheRightOrder) {
  EXPECT_DOUBLE_EQ(auc(Values{1, 2, 3, 4}, Values{0, 0, 1, 1}), 1);
  EXPECT_DOUBLE_EQ(auc(Values{4, 3, 2, 1}, Values{0, 0, 1, 1}), 0);
  EXPECT_DOUBLE_EQ(auc(Values{7, 7, 7}, Values{0, 1, 0}), 0.5);
  EXPECT_DOUBLE_EQ(auc(Values{0.1, 0.4, 0.35, 0.8}, Values{0, 0, 1, 1}), 0.75);
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const Rows rows = random_rows(300, seed);
    EXPECT_THAT(auc(rows.scores, rows.labels), DoubleNear(auc_of_pairs(rows), 1e-12));
  }
}

TEST(Ks, IsTheWidestGapBetweenTheClasses) {
  EXPECT_DOUBLE_EQ(ks(Values{1, 2, 3, 4}, Values{0, 0, 1, 1}), 1);
  EXPECT_DOUBLE_EQ(ks(Values{4, 3, 2, 1}, Values{0, 0, 1, 1}), 1) << "either way round";
  EXPECT_DOUBLE_EQ(ks(Values{7, 7, 7, 7}, Values{0, 1, 0, 1}), 0);
  EXPECT_DOUBLE_EQ(ks(Values{1, 2, 3, 4}, Values{0, 1, 0, 1}), 0.5);
  // By definition: at every threshold, the shares of both classes above it.
  const Rows rows = random_rows(300, 4);
  double widest = 0;
  for (const double threshold : rows.scores) {
    double above[2] = {0, 0};
    double all[2] = {0, 0};
    for (std::size_t i = 0; i < rows.scores.size(); ++i) {
      const auto label = static_cast<std::size_t>(rows.labels[i]);
      all[label] += 1;
      above[label] += rows.scores[i] > threshold ? 1 : 0;
    }
    widest = std::max(widest, std::abs(above[1] / all[1] - above[0] / all[0]));
  }
  EXPECT_THAT(ks(rows.scores, rows.labels), DoubleNear(widest, 1e-12));
}

TEST(Accuracy, CountsTheRightSideOfTheThreshold) {
  EXPECT_DOUBLE_EQ(binary_accuracy(Values{0.2, 0.5, 0.6, 0.9}, Values{0, 1, 1, 0}, 0.5), 0.5);
  EXPECT_DOUBLE_EQ(binary_accuracy(Values{0.2, 0.5, 0.6, 0.9}, Values{0, 1, 1, 0}, 0.4), 0.75);
  EXPECT_DOUBLE_EQ(binary_accuracy(Values{-1, 2}, Values{0, 1}, 0, Values{3, 1}), 1);
  EXPECT_DOUBLE_EQ(binary_accuracy(Values{-1, -2}, Values{0, 1}, 0, Values{3, 1}), 0.75);
}

TEST(Accuracy, OfClassesTakesTheHighestScore) {
  const Values scores = {0.1, 0.7, 0.2, 3, 2, 1, 5, 5, 5, -3, -2, -1};
  EXPECT_DOUBLE_EQ(class_accuracy(scores, 3, Values{1, 0, 0, 1}), 0.75);
  EXPECT_DOUBLE_EQ(class_accuracy(scores, 3, Values{1, 0, 2, 2}), 0.75) << "the first of equal scores counts";
  EXPECT_DOUBLE_EQ(class_accuracy(scores, 3, Values{1, 0, 0, 1}, Values{1, 1, 1, 7}), 0.3);
}

TEST(F1, IsTheHarmonicMeanOfPrecisionAndRecall) {
  // Two of three found, one wrong: precision 2/3, recall 2/3.
  EXPECT_DOUBLE_EQ(f1(Values{0.9, 0.8, 0.7, 0.1, 0.2}, Values{1, 1, 0, 1, 0}, 0.5), 2.0 / 3);
  EXPECT_DOUBLE_EQ(f1(Values{0.1, 0.2}, Values{1, 0}, 0.5), 0) << "nothing found";
  EXPECT_DOUBLE_EQ(f1(Values{0.1, 0.2}, Values{0, 0}, 0.5), 0) << "nothing to find";
  EXPECT_DOUBLE_EQ(f1(Values{0.9}, Values{1}, 0.5), 1);
}

TEST(LogLoss, IsTheMeanSurprise) {
  EXPECT_DOUBLE_EQ(log_loss(Values{0.8, 0.4}, Values{1, 0}), -(std::log(0.8) + std::log(0.6)) / 2);
  EXPECT_DOUBLE_EQ(log_loss(Values{0.8, 0.4}, Values{1, 0}, Values{1, 3}), -(std::log(0.8) + 3 * std::log(0.6)) / 4);
  EXPECT_DOUBLE_EQ(class_log_loss(Values{0.2, 0.5, 0.3, 1, 0, 0}, 3, Values{1, 0}), -std::log(0.5) / 2);
  const Rows rows = random_rows(50, 9);
  Values both;
  for (const double p : rows.scores) {
    both.push_back(1 - p);
    both.push_back(p);
  }
  EXPECT_THAT(class_log_loss(both, 2, rows.labels), DoubleNear(log_loss(rows.scores, rows.labels), 1e-12));
}

TEST(LogLoss, IsFiniteForCertaintyThatIsWrong) {
  EXPECT_DOUBLE_EQ(log_loss(Values{0, 1}, Values{0, 1}), 0);
  EXPECT_THAT(log_loss(Values{0}, Values{1}), DoubleNear(-std::log(1e-15), 1e-9));
  EXPECT_THAT(log_loss(Values{1}, Values{0}), DoubleNear(-std::log(1e-15), 1e-9));
  EXPECT_THAT(class_log_loss(Values{1, 0}, 2, Values{1}), DoubleNear(-std::log(1e-15), 1e-9));
}

TEST(Regression, MeasuresDifferences) {
  EXPECT_DOUBLE_EQ(rmse(Values{1, 5}, Values{4, 1}), std::sqrt(12.5));
  EXPECT_DOUBLE_EQ(mae(Values{1, 5}, Values{4, 1}), 3.5);
  EXPECT_DOUBLE_EQ(rmse(Values{1, 5}, Values{4, 1}, Values{1, 0}), 3);
  EXPECT_DOUBLE_EQ(mae(Values{1, 5}, Values{4, 1}, Values{3, 1}), 3.25);
}

TEST(PoissonDeviance, IsZeroForPerfectMeansAndFiniteForNone) {
  EXPECT_DOUBLE_EQ(poisson_deviance(Values{2, 3}, Values{2, 3}), 0);
  EXPECT_DOUBLE_EQ(poisson_deviance(Values{2}, Values{0}), 4);
  EXPECT_DOUBLE_EQ(poisson_deviance(Values{1}, Values{2}), 2 * (2 * std::log(2.0) - 1));
  EXPECT_TRUE(std::isfinite(poisson_deviance(Values{0}, Values{3})));
  EXPECT_THAT([] { (void)poisson_deviance(Values{-1}, Values{3}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("negative")));
  EXPECT_THROW((void)poisson_deviance(Values{1}, Values{-3}), InvalidArgument);
}

TEST(Weights, AreLikeRepeatedRows) {
  const Rows rows = random_rows(200, 5);
  const Rows all = repeated(rows);
  const auto& [s, y, w] = rows;
  EXPECT_THAT(auc(s, y, w), DoubleNear(auc(all.scores, all.labels), 1e-12));
  EXPECT_THAT(ks(s, y, w), DoubleNear(ks(all.scores, all.labels), 1e-12));
  EXPECT_THAT(f1(s, y, 0.4, w), DoubleNear(f1(all.scores, all.labels, 0.4), 1e-12));
  EXPECT_THAT(log_loss(s, y, w), DoubleNear(log_loss(all.scores, all.labels), 1e-12));
  EXPECT_THAT(rmse(s, y, w), DoubleNear(rmse(all.scores, all.labels), 1e-12));
  EXPECT_THAT(mae(s, y, w), DoubleNear(mae(all.scores, all.labels), 1e-12));
  EXPECT_THAT(poisson_deviance(s, y, w), DoubleNear(poisson_deviance(all.scores, all.labels), 1e-12));
  EXPECT_THAT(binary_accuracy(s, y, 0.4, w), DoubleNear(binary_accuracy(all.scores, all.labels, 0.4), 1e-12));
}

TEST(Metrics, RefuseWhatTheyCannotMeasure) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  using Metric = std::function<double(Numbers, Numbers, Numbers)>;
  const std::vector<Metric> metrics = {
      [](Numbers s, Numbers y, Numbers w) { return auc(s, y, w); },
      [](Numbers s, Numbers y, Numbers w) { return ks(s, y, w); },
      [](Numbers s, Numbers y, Numbers w) { return binary_accuracy(s, y, 0.5, w); },
      [](Numbers s, Numbers y, Numbers w) { return class_accuracy(s, 1, y, w); },
      [](Numbers s, Numbers y, Numbers w) { return f1(s, y, 0.5, w); },
      [](Numbers s, Numbers y, Numbers w) { return log_loss(s, y, w); },
      [](Numbers s, Numbers y, Numbers w) { return rmse(s, y, w); },
      [](Numbers s, Numbers y, Numbers w) { return mae(s, y, w); },
      [](Numbers s, Numbers y, Numbers w) { return poisson_deviance(s, y, w); },
      [](Numbers s, Numbers y, Numbers w) { return roc_curve(s, y, 10, w).front().threshold; },
      [](Numbers s, Numbers y, Numbers w) { return calibration(s, y, 10, w).front().weight; },
  };
  for (const Metric& metric : metrics) {
    EXPECT_NO_THROW((void)metric(Values{0.5, 1}, Values{0, 1}, {}));
    EXPECT_THROW((void)metric({}, {}, {}), InvalidArgument);
    EXPECT_THROW((void)metric(Values{0.5}, Values{0, 1}, {}), InvalidArgument);
    EXPECT_THROW((void)metric(Values{0.5, nan}, Values{0, 1}, {}), InvalidArgument);
    EXPECT_THROW((void)metric(Values{0.5, infinity}, Values{0, 1}, {}), InvalidArgument);
    EXPECT_THROW((void)metric(Values{0.5, 1}, Values{0, nan}, {}), InvalidArgument);
    EXPECT_THROW((void)metric(Values{0.5, 1}, Values{0, 1}, Values{1}), InvalidArgument);
    EXPECT_THROW((void)metric(Values{0.5, 1}, Values{0, 1}, Values{1, -1}), InvalidArgument);
    EXPECT_THROW((void)metric(Values{0.5, 1}, Values{0, 1}, Values{1, nan}), InvalidArgument);
    EXPECT_THROW((void)metric(Values{0.5, 1}, Values{0, 1}, Values{0, 0}), InvalidArgument);
    EXPECT_THROW((void)metric(Values{0.5, 1}, Values{0, 1}, Values{1e308, 1e308}), InvalidArgument);
  }
  EXPECT_THROW((void)auc(Values{1, 2}, Values{1, 1}), InvalidArgument);
  EXPECT_THROW((void)ks(Values{1, 2}, Values{0, 0}), InvalidArgument);
  EXPECT_THROW((void)auc(Values{1, 2}, Values{0, 1}, Values{1, 0}), InvalidArgument) << "no row of one class counts";
  EXPECT_THROW((void)class_accuracy(Values{1, 2}, 0, Values{1}), InvalidArgument);
  EXPECT_THROW((void)class_accuracy(Values{1, 2, 3}, 2, Values{1}), InvalidArgument);
  EXPECT_THROW((void)log_loss(Values{1.01}, Values{1}), InvalidArgument);
  EXPECT_THROW((void)log_loss(Values{-0.01}, Values{1}), InvalidArgument);
  for (const double label : {-1.0, 2.0, 0.5, 1e300}) {
    EXPECT_THROW((void)class_log_loss(Values{0.5, 0.5}, 2, Values{label}), InvalidArgument);
  }
  EXPECT_THROW((void)binary_accuracy(Values{1}, Values{1}, nan), InvalidArgument);
  EXPECT_THROW((void)roc_curve(Values{1, 2}, Values{0, 1}, 2), InvalidArgument);
  EXPECT_THROW((void)calibration(Values{1, 1}, Values{0, 1}, 0), InvalidArgument);
}

/// The area under the points of a curve.
double area_of(const std::vector<RocPoint>& curve) {
  double area = 0;
  for (std::size_t i = 1; i < curve.size(); ++i) {
    area += (curve[i].false_positive_rate - curve[i - 1].false_positive_rate) *
            (curve[i].true_positive_rate + curve[i - 1].true_positive_rate) / 2;
  }
  return area;
}

TEST(RocCurve, GoesThroughEveryCornerIfThereAreFew) {
  const std::vector<RocPoint> curve = roc_curve(Values{0.1, 0.4, 0.35, 0.8, 0.8}, Values{0, 0, 1, 1, 0}, 100);
  ASSERT_EQ(curve.size(), 5U);
  const std::vector<std::array<double, 3>> expected = {{std::numeric_limits<double>::infinity(), 0, 0},
                                                       {0.8, 1.0 / 3, 0.5},
                                                       {0.4, 2.0 / 3, 0.5},
                                                       {0.35, 2.0 / 3, 1},
                                                       {0.1, 1, 1}};
  for (std::size_t i = 0; i < curve.size(); ++i) {
    EXPECT_DOUBLE_EQ(curve[i].threshold, expected[i][0]);
    EXPECT_DOUBLE_EQ(curve[i].false_positive_rate, expected[i][1]);
    EXPECT_DOUBLE_EQ(curve[i].true_positive_rate, expected[i][2]);
  }
}

TEST(RocCurve, IsThinnedAndStaysTheSameCurve) {
  SeededRandom random(11);
  Rows rows;
  for (int i = 0; i < 20'000; ++i) {
    const bool positive = random.below(10) == 0;
    rows.scores.push_back(static_cast<double>(random.below(1'000'000)) + (positive ? 300'000 : 0));
    rows.labels.push_back(positive ? 1 : 0);
  }
  for (const std::size_t most : {std::size_t{3}, std::size_t{10}, std::size_t{200}}) {
    const std::vector<RocPoint> curve = roc_curve(rows.scores, rows.labels, most);
    EXPECT_LE(curve.size(), most);
    EXPECT_GE(curve.size(), std::min<std::size_t>(most, 100));
    EXPECT_EQ(curve.front().false_positive_rate + curve.front().true_positive_rate, 0);
    EXPECT_EQ(curve.back().false_positive_rate + curve.back().true_positive_rate, 2);
    EXPECT_TRUE(std::ranges::is_sorted(curve, {}, &RocPoint::false_positive_rate));
    EXPECT_TRUE(std::ranges::is_sorted(curve, {}, &RocPoint::true_positive_rate));
    EXPECT_TRUE(std::ranges::is_sorted(curve, std::greater{}, &RocPoint::threshold));
  }
  EXPECT_THAT(area_of(roc_curve(rows.scores, rows.labels, 200)), DoubleNear(auc(rows.scores, rows.labels), 1e-3));
}

TEST(Calibration, PutsEqualWeightIntoEachBin) {
  const std::vector<CalibrationBin> bins =
      calibration(Values{0.9, 0.1, 0.2, 0.8, 0.3, 0.7}, Values{1, 0, 1, 1, 0, 0}, 3);
  ASSERT_EQ(bins.size(), 3U);
  EXPECT_DOUBLE_EQ(bins[0].predicted, 0.15);
  EXPECT_DOUBLE_EQ(bins[0].observed, 0.5);
  EXPECT_DOUBLE_EQ(bins[1].predicted, 0.5);
  EXPECT_DOUBLE_EQ(bins[1].observed, 0);
  EXPECT_DOUBLE_EQ(bins[2].predicted, 0.85);
  EXPECT_DOUBLE_EQ(bins[2].observed, 1);
  EXPECT_DOUBLE_EQ(bins[2].weight, 2);
}

TEST(Calibration, KeepsEqualProbabilitiesTogetherAndAllWeight) {
  EXPECT_EQ(calibration(Values(100, 0.25), Values(100, 1), 10).size(), 1U);
  for (const std::uint64_t seed : {6U, 7U}) {
    const Rows rows = random_rows(500, seed);
    const std::vector<CalibrationBin> bins = calibration(rows.scores, rows.labels, 10, rows.weights);
    EXPECT_LE(bins.size(), 10U);
    EXPECT_GE(bins.size(), 7U);
    double weight = 0;
    double expected = 0;
    for (const CalibrationBin& bin : bins) weight += bin.weight;
    for (const double w : rows.weights) expected += w;
    EXPECT_DOUBLE_EQ(weight, expected);
    EXPECT_TRUE(std::ranges::is_sorted(bins, {}, &CalibrationBin::predicted));
  }
}

// Five rows, by falling score: +, -, + and - together, +.
const Values kFive = {0.9, 0.8, 0.5, 0.5, 0.1};
const Values kFiveLabels = {1, 0, 1, 0, 1};

TEST(AveragePrecision, IsTheMeanPrecisionAtEachPositiveRow) {
  // After the first row 1/1, after the tie 2/4, after all 3/5; each of the three positive rows counts a third.
  EXPECT_NEAR(average_precision(kFive, kFiveLabels), (1.0 + 0.5 + 0.6) / 3, 1e-15);
  EXPECT_EQ(average_precision(Values{3, 2, 1}, Values{1, 1, 0}), 1);
  // A row that counts twice is two rows.
  EXPECT_NEAR(average_precision(Values{2, 1}, Values{0, 1}, Values{2, 1}), 1.0 / 3, 1e-15);
  const Rows rows = random_rows(300, 5);
  const Rows all = repeated(rows);
  EXPECT_NEAR(average_precision(rows.scores, rows.labels, rows.weights), average_precision(all.scores, all.labels),
              1e-12);
  EXPECT_THROW((void)average_precision(Values{1, 2}, Values{0, 0}), InvalidArgument);
}

TEST(PrecisionAndRecall, CountWhatIsTakenForPositive) {
  // Above 0.4 there are four rows, two of them positive, of three positive ones.
  EXPECT_EQ(precision(kFive, kFiveLabels, 0.4), 0.5);
  EXPECT_NEAR(recall(kFive, kFiveLabels, 0.4), 2.0 / 3, 1e-15);
  EXPECT_EQ(precision(kFive, kFiveLabels, 1), 0) << "nothing is taken for positive";
  EXPECT_EQ(recall(Values{1, 2}, Values{0, 0}, 0.5), 0) << "nothing is positive";
  // The second row counts twice: 1 of 3.
  EXPECT_NEAR(precision(kFive, kFiveLabels, 0.6, Values{1, 2, 1, 1, 1}), 1.0 / 3, 1e-15);
}

TEST(PrecisionAndRecall, OfSeveralClassesAreMeansOverThoseWithRows) {
  // Rows of 0, 0, 1, 2; taken for 0, 1, 1, 1. Class 3 has no row.
  const Values scores = {9, 0, 0, 0, 0, 9, 0, 0, 0, 9, 0, 0, 0, 9, 0, 0};
  const Values labels = {0, 0, 1, 2};
  EXPECT_NEAR(class_precision(scores, 4, labels), (1.0 + 1.0 / 3 + 0) / 3, 1e-15);
  EXPECT_NEAR(class_recall(scores, 4, labels), (0.5 + 1 + 0) / 3, 1e-15);
  EXPECT_NEAR(class_recall(scores, 4, labels, Values{3, 1, 1, 0}), (0.75 + 1) / 2, 1e-15);
  EXPECT_THROW((void)class_recall(scores, 4, Values{0, 0, 1, 4}), InvalidArgument);
}

TEST(Lift, ComparesTheBestWithAll) {
  // The two best of five: one positive, so 1/2 against 3/5.
  EXPECT_NEAR(lift(kFive, kFiveLabels, 0.4), 0.5 / 0.6, 1e-15);
  // Of the tie at the edge, half counts: 1 + 0.5 of 3 rows.
  EXPECT_NEAR(lift(kFive, kFiveLabels, 0.6), (1.5 / 3) / 0.6, 1e-15);
  EXPECT_NEAR(lift(kFive, kFiveLabels, 1), 1, 1e-15);
  // One in ten positive, and all of them in front.
  Values scores(100);
  Values labels(100, 0);
  for (std::size_t i = 0; i < 100; ++i) scores[i] = -static_cast<double>(i);
  for (std::size_t i = 0; i < 10; ++i) labels[i] = 1;
  EXPECT_NEAR(lift(scores, labels, 0.1), 10, 1e-12);
  EXPECT_THROW((void)lift(kFive, Values(5, 0), 0.1), InvalidArgument);
  EXPECT_THROW((void)lift(kFive, kFiveLabels, 0), InvalidArgument);
}

TEST(RSquared, IsTheShareOfVariancePredicted) {
  const Values truth = {1, 2, 3, 4};  // variance 1.25
  EXPECT_NEAR(r_squared(Values{1, 2, 3, 5}, truth), 1 - 0.25 / 1.25, 1e-15);
  EXPECT_EQ(r_squared(truth, truth), 1);
  EXPECT_NEAR(r_squared(Values(4, 2.5), truth), 0, 1e-15);
  EXPECT_LT(r_squared(Values{4, 3, 2, 1}, truth), 0);
  // Weights 1 and 3 of values 0 and 4: mean 3, variance 3; one error of 1 at the first.
  EXPECT_NEAR(r_squared(Values{1, 4}, Values{0, 4}, Values{1, 3}), 1 - 0.25 / 3, 1e-15);
  EXPECT_THROW((void)r_squared(Values{1, 2}, Values{5, 5}), InvalidArgument);
}

}  // namespace
}  // namespace blindfl::run::metrics_test
