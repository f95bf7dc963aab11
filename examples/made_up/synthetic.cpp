#include "made_up/synthetic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/base/random.h"

namespace blindfl::made_up {

namespace {

// Separate streams: more rows leave the truth as it was, and another task leaves the features.
constexpr std::uint64_t kTruthPurpose = 0x5E71'0000'0000'0001;
constexpr std::uint64_t kFeaturePurpose = 0x5E71'0000'0000'0002;
constexpr std::uint64_t kLabelPurpose = 0x5E71'0000'0000'0003;

constexpr double kLargestLogRate = 5.0;

void check(const SyntheticSpec& spec) {
  constexpr std::size_t kMaxCount = std::numeric_limits<std::uint32_t>::max() - 1;
  require<InvalidArgument>(spec.rows <= kMaxCount, "synthetic data: ", spec.rows, " rows are too many");
  require<InvalidArgument>(spec.columns_a <= kMaxCount && spec.columns_b <= kMaxCount - spec.columns_a,
                           "synthetic data: too many columns");
  require<InvalidArgument>(spec.columns_a + spec.columns_b > 0, "synthetic data: neither party has a column");
  require<InvalidArgument>(spec.density > 0 && spec.density <= 1, "synthetic data: a density of ", spec.density,
                           " is not above 0 and at most 1");
  require<InvalidArgument>(!spec.binary || spec.density < 1,
                           "synthetic data: binary entries need a density below 1, or every value would be 1");
  require<InvalidArgument>(spec.task != Task::kMulticlass || spec.classes >= 2, "synthetic data: ", spec.classes,
                           " classes are too few");
  require<InvalidArgument>(std::isfinite(spec.noise) && spec.noise >= 0,
                           "synthetic data: the noise must be finite and not negative");
}

std::size_t outputs(const SyntheticSpec& spec) {
  return spec.task == Task::kMulticlass ? spec.classes : 1;
}

/// The standard deviation of a score over the rows: large enough to learn from, small enough that labels stay a matter
/// of chance.
double score_deviation(Task task) {
  switch (task) {
    case Task::kBinary:
    case Task::kMulticlass:
      return 3.0;
    case Task::kRegression:
      return 1.0;
    case Task::kCount:
      return 0.7;
  }
  fail<InvalidArgument>("synthetic data: no such task");
}

double feature_variance(const SyntheticSpec& spec) {
  return spec.binary ? spec.density * (1 - spec.density) : spec.density;
}

/// The weights of one party's columns towards one output, scaled so that their share of the score has `deviation`.
std::vector<double> draw_weights(const SyntheticSpec& spec, std::size_t columns, double deviation,
                                 SeededRandom& random) {
  std::vector<double> weights(columns);
  for (double& w : weights) w = random.normal();
  if (spec.binary && columns > 1) {
    // Binary entries are 1 on average as often as `density` says: weights that sum to 0 keep the classes balanced.
    double mean = 0;
    for (const double w : weights) mean += w / static_cast<double>(columns);
    for (double& w : weights) w -= mean;
  }
  double squares = 0;
  for (const double w : weights) squares += w * w;
  for (double& w : weights) w *= deviation / std::sqrt(squares * feature_variance(spec));
  return weights;
}

std::vector<double> draw_truth(const SyntheticSpec& spec) {
  SeededRandom random(spec.seed, kTruthPurpose);
  const std::size_t width = outputs(spec);
  const bool both = spec.columns_a > 0 && spec.columns_b > 0;
  const double deviation = score_deviation(spec.task) / std::sqrt(both ? 2.0 : 1.0);
  std::vector<double> truth((spec.columns_a + spec.columns_b) * width);
  for (std::size_t output = 0; output < width; ++output) {
    std::size_t column = 0;
    for (const std::size_t columns : {spec.columns_a, spec.columns_b}) {
      for (const double w : draw_weights(spec, columns, deviation, random)) truth[column++ * width + output] = w;
    }
  }
  return truth;
}

data::Table draw_dense(const SyntheticSpec& spec) {
  SeededRandom random(spec.seed, kFeaturePurpose);
  const std::size_t cols = spec.columns_a + spec.columns_b;
  std::vector<double> values(spec.rows * cols);
  for (double& v : values) v = random.normal();
  return data::Table::dense(spec.rows, cols, std::move(values));
}

data::Table draw_sparse(const SyntheticSpec& spec) {
  SeededRandom random(spec.seed, kFeaturePurpose);
  const std::size_t cols = spec.columns_a + spec.columns_b;
  std::vector<std::size_t> row_starts{0};
  std::vector<data::Table::Column> columns;
  std::vector<double> values;
  // The gap to the next entry is geometric: drawing gaps costs time for the entries, not for all the places between.
  // It stays a double until it is known to be in the row, because it may be larger than any integer.
  const double log_absent = std::log1p(-spec.density);
  const auto draw_gap = [&] { return std::floor(std::log1p(-random.uniform()) / log_absent); };
  for (std::size_t r = 0; r < spec.rows; ++r) {
    for (double c = draw_gap(); c < static_cast<double>(cols); c += 1 + draw_gap()) {
      columns.push_back(static_cast<data::Table::Column>(c));
      values.push_back(spec.binary ? 1.0 : random.normal());
    }
    row_starts.push_back(columns.size());
  }
  return data::Table::csr(spec.rows, cols, std::move(row_starts), std::move(columns), std::move(values));
}

double draw_exponential(SeededRandom& random) {
  return -std::log1p(-random.uniform());
}

/// The number of arrivals in a time of e^log_rate, one per unit of time on average.
double draw_poisson(double log_rate, SeededRandom& random) {
  const double end = std::exp(std::min(log_rate, kLargestLogRate));
  double count = 0;
  for (double time = draw_exponential(random); time < end; time += draw_exponential(random)) ++count;
  return count;
}

/// A class by the softmax of the scores: with Gumbel noise on each, the largest is distributed like that.
double draw_class(std::span<const double> scores, SeededRandom& random) {
  std::size_t best = 0;
  double largest = -std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < scores.size(); ++k) {
    const double score = scores[k] - std::log(draw_exponential(random));
    if (score > largest) {
      best = k;
      largest = score;
    }
  }
  return static_cast<double>(best);
}

double draw_label(Task task, std::span<const double> scores, SeededRandom& random) {
  switch (task) {
    case Task::kBinary:
      return random.uniform() < 1 / (1 + std::exp(-scores[0])) ? 1 : 0;
    case Task::kMulticlass:
      return draw_class(scores, random);
    case Task::kRegression:
      return scores[0];
    case Task::kCount:
      return draw_poisson(scores[0], random);
  }
  fail<InvalidArgument>("synthetic data: no such task");
}

std::vector<double> draw_labels(const SyntheticSpec& spec, const data::Table& features,
                                const std::vector<double>& truth) {
  SeededRandom random(spec.seed, kLabelPurpose);
  const std::size_t width = outputs(spec);
  std::vector<double> labels;
  labels.reserve(features.rows());
  std::vector<double> scores(width);
  for (std::size_t r = 0; r < features.rows(); ++r) {
    for (double& score : scores) score = spec.noise * random.normal();
    features.for_each_in_row(r, [&](std::size_t column, double value) {
      for (std::size_t k = 0; k < width; ++k) scores[k] += value * truth[column * width + k];
    });
    labels.push_back(draw_label(spec.task, scores, random));
  }
  return labels;
}

}  // namespace

SyntheticData make_synthetic(const SyntheticSpec& spec) {
  check(spec);
  std::vector<double> truth = draw_truth(spec);
  const data::Table features = spec.density < 1 ? draw_sparse(spec) : draw_dense(spec);
  std::vector<double> labels = draw_labels(spec, features, truth);
  return {.joined = features.with_labels(std::move(labels)), .truth = std::move(truth)};
}

}  // namespace blindfl::made_up
