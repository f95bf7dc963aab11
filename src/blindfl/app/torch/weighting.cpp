#include "blindfl/app/torch/weighting.h"

#include <algorithm>
#include <cmath>

#include "blindfl/base/error.h"
#include "blindfl/base/number_text.h"
#include "blindfl/base/text.h"
#include "blindfl/nn/shared_evaluation.h"
#include "blindfl/protocol/layers/shared_top_options.h"

namespace blindfl::app {

namespace {

constexpr std::size_t kShownClasses = 20;

/// Calls `f(row)` for the rows of the training file that are trained on.
template <class F>
void for_each_real(const protocol::Alignment& training, F&& f) {
  for (std::size_t i = 0; i < training.size(); ++i) {
    if (training.real[i]) f(training.rows[i]);
  }
}

std::vector<double> balanced(const std::vector<double>& labels, std::size_t classes,
                             const protocol::Alignment& training) {
  std::vector<double> counts(classes);
  double all = 0;
  for_each_real(training, [&](std::size_t row) {
    counts.at(static_cast<std::size_t>(labels.at(row))) += 1;
    all += 1;
  });
  // A class that no row has needs no weight.
  for (double& count : counts) count = count == 0 ? 0 : all / (static_cast<double>(classes) * count);
  return counts;
}

std::vector<double> with_mean_one(std::vector<double> weights, const protocol::Alignment& training) {
  double sum = 0;
  double rows = 0;
  for_each_real(training, [&](std::size_t row) {
    sum += weights.at(row);
    rows += 1;
  });
  require<DataError>(sum > 0 && std::isfinite(sum),
                     "private.data.weight_column: the weights of the rows to train on, or to validate with, are all 0, "
                     "or too large to be added up");
  for (double& weight : weights) weight *= rows / sum;
  return weights;
}

/// Of a linear model the derivative of a row's loss by its score is its weight at most, and this is known beforehand.
void check_range(const job::Job& job, const Weighting& weighting, const protocol::Alignment& training) {
  using job::ModelKind;
  const FixedPointSpec& range = job.shared.training.derivative;
  const ModelKind kind = job.shared.model.kind;
  if (range.clip || (kind != ModelKind::kLr && kind != ModelKind::kMlr)) return;
  double heaviest = weighting.by_class.empty() ? 1 : std::ranges::max(weighting.by_class);
  double heaviest_row = weighting.by_row.empty() ? 1 : 0;
  if (!weighting.by_row.empty()) {
    for_each_real(training, [&](std::size_t row) { heaviest_row = std::max(heaviest_row, weighting.by_row[row]); });
  }
  heaviest *= heaviest_row * weighting.most_for_placeholders;
  require<ConfigError>(heaviest <= range.largest,
                       "private.top.class_weights, private.data.weight_column, placeholders: some rows count more than "
                       "shared.training.derivative.largest has room for, which is ",
                       range.largest,
                       " times an average row; cut off the largest weights, or raise it at both parties");
}

/// Of a row and of its class.
double weight_of(const PreparedRows& rows, const Weighting& weighting, const std::vector<double>& by_row,
                 std::size_t row) {
  const double of_class =
      weighting.by_class.empty() ? 1 : weighting.by_class.at(static_cast<std::size_t>(rows.labels.at(row)));
  return of_class * (by_row.empty() ? 1 : by_row.at(row));
}

/// Under a shared top weights are numbers of few bits.
void check_limit(const PreparedRows& rows, const Weighting& weighting, const std::vector<double>& by_row,
                 const protocol::Alignment& alignment) {
  for_each_real(alignment, [&](std::size_t row) {
    require<ConfigError>(weight_of(rows, weighting, by_row, row) < protocol::kRowWeightLimit,
                         "private.top.class_weights, private.data.weight_column: under a shared top a row counts less "
                         "than ",
                         protocol::kRowWeightLimit,
                         " times an average one, and some count more; cut off the largest weights, or take "
                         "shared.model.top: open, which A must accept");
  });
}

/// Under a shared top B learns the weighted mean loss of these rows: where few have all the weight, it tells of each.
void check_spread(const PreparedRows& rows, const Weighting& weighting, const protocol::Alignment& validated) {
  double sum = 0;
  double squares = 0;
  for_each_real(validated, [&](std::size_t row) {
    const double weight = weight_of(rows, weighting, weighting.by_validated_row, row);
    sum += weight;
    squares += weight * weight;
  });
  require<ConfigError>(sum * sum >= static_cast<double>(nn::kLeastRowsOfMeanLoss) * squares,
                       "shared.training.validation_share: with the weights of these rows their mean loss says as much "
                       "of each as one of fewer than ",
                       nn::kLeastRowsOfMeanLoss,
                       " rows that count alike, and under a shared top B learns it in every epoch. Set it to 0, or "
                       "higher, or cut off the largest weights");
}

}  // namespace

Weighting weighting_of(const job::Job& job, const PreparedRows& rows, const protocol::Alignment& training,
                       const protocol::Alignment& validated) {
  Weighting weighting;
  const job::ClassWeights& wanted = job.own.top.class_weights;
  weighting.by_class =
      wanted.balanced ? balanced(rows.labels, job.shared.model.class_count(), training) : wanted.weights;
  if (!rows.weights.empty()) weighting.by_row = with_mean_one(rows.weights, training);
  const auto real = static_cast<double>(std::ranges::count(training.real, true));
  const auto all = static_cast<double>(training.size());
  if (real > 0 && real < all) weighting.most_for_placeholders = 2 * all / real;
  check_range(job, weighting, training);
  if (job.shared.model.shared_top()) {
    if (!rows.weights.empty() && validated.size() > 0)
      weighting.by_validated_row = with_mean_one(rows.weights, validated);
    check_limit(rows, weighting, weighting.by_row, training);
    check_limit(rows, weighting, weighting.by_validated_row, validated);
    if (job.shared.training.row_weights) check_spread(rows, weighting, validated);
  }
  return weighting;
}

std::string class_words(const job::Model& model, const std::vector<std::string>& classes) {
  if (classes.empty()) return {};
  if (classes.size() == 2 && model.kind != job::ModelKind::kMlr) {
    return "positive class: " + printable(classes[1]) + "; the other: " + printable(classes[0]);
  }
  std::string words;
  for (std::size_t i = 0; i < std::min(classes.size(), kShownClasses); ++i) {
    words.append(i == 0 ? "classes: " : ", ").append(printable(classes[i]));
  }
  if (classes.size() > kShownClasses) words += ", ... (" + std::to_string(classes.size()) + ")";
  return words;
}

std::string weight_words(const std::vector<std::string>& classes, const std::vector<double>& weights) {
  std::string words;
  for (std::size_t i = 0; i < std::min(weights.size(), kShownClasses); ++i) {
    words.append(i == 0 ? "class weights: " : ", ").append(printable(classes.at(i))).append(" ");
    words += decimal_text(weights[i]);
  }
  if (weights.size() > kShownClasses) words += ", ... (" + std::to_string(weights.size()) + ")";
  return words;
}

}  // namespace blindfl::app
