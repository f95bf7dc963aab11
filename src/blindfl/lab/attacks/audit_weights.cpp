// What A makes of its shares of its own weights.

#include <algorithm>
#include <cmath>
#include <utility>

#include "blindfl/base/number_text.h"
#include "blindfl/lab/attacks/audit_parts.h"
#include "blindfl/lab/attacks/compare_shares.h"
#include "blindfl/lab/attacks/own_view.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/run/metrics.h"

namespace blindfl::lab::attacks {

namespace {

using torch::Tensor;

constexpr const char* kTellUsOfWeights =
    "A's shares should tell nothing of labels and weights, and these seem to. Look again at another run; if it stands, "
    "it is a fault of the program, and SECURITY.md says where to report it.";

/// Labels of any kind as two classes: those above the median, or, where that is all or nothing, at least it.
std::vector<double> as_two_classes(const std::vector<double>& labels) {
  std::vector<double> sorted = labels;
  std::ranges::sort(sorted);
  const double middle = sorted[sorted.size() / 2];
  const bool above = sorted.back() > middle;
  std::vector<double> two;
  for (const double label : labels) two.push_back((above ? label > middle : label >= middle) ? 1.0 : 0.0);
  return two;
}

bool has_both(const std::vector<double>& two) {
  return std::ranges::find(two, 0.0) != two.end() && std::ranges::find(two, 1.0) != two.end();
}

/// The largest of `number` over the columns.
template <class F>
double best_of_columns(const Tensor& columns, F&& number) {
  double best = 0;
  for (std::int64_t i = 0; i < columns.size(1); ++i) best = std::max(best, number(columns.select(1, i)));
  return best;
}

/// How well the best of some columns parts two classes: the AUC, whichever side is which.
double best_auc(const Tensor& columns, const std::vector<double>& classes) {
  return best_of_columns(columns, [&](const Tensor& column) {
    return 0.5 + std::abs(run::auc(nn::to_vector(column.contiguous()), classes) - 0.5);
  });
}

/// Sarle's coefficient, the largest over the columns: 1 for two points, 5/9 for uniform numbers, 1/3 for normal ones.
double best_bimodality(const Tensor& columns) {
  return best_of_columns(columns, [](const Tensor& column) {
    const Tensor centred = column - column.mean();
    const double variance = std::max(centred.pow(2).mean().item<double>(), 1e-300);
    const double skewness = centred.pow(3).mean().item<double>() / std::pow(variance, 1.5);
    return (skewness * skewness + 1) / (centred.pow(4).mean().item<double>() / (variance * variance));
  });
}

/// By A's features times something that has the shape of weights.
void add_activations(const OwnWeights& weights, const Tensor& share, const std::string& what,
                     const AuditOptions& options, run::AttackResults& results) {
  const std::vector<double> classes = weights.labels.empty() ? weights.labels : as_two_classes(weights.labels);
  const bool has_truth = !classes.empty() && has_both(classes);
  // Shares are numbers of so many bits that their squares and products need room.
  const Tensor scaled = share / share.abs().max().clamp_min(1e-300);
  const auto number = [&](const Tensor& like_weights) {
    const Tensor contribution = torch::mm(weights.features, like_weights);
    return has_truth ? best_auc(contribution, classes) : best_bimodality(contribution);
  };
  const Spread chance = by_chance(options.draws, options.seed,
                                  [&](torch::Generator& random) { return number(random_like(scaled, random)); });
  results.figures.push_back(
      {.attack = "labels by " + what,
       .of = "source layer '" + weights.layer + "', " +
             plainly_counted(static_cast<std::uint64_t>(weights.features.size(0)), "row"),
       .tries = has_truth ? "Labels told by what A's share of its weights makes of A's features: " + what + "."
                          : "Whether " + what + " falls into two groups of rows, as it might by the labels.",
       .measure = has_truth ? "the AUC of the best output, whichever way round"
                            : "Sarle's coefficient of bimodality of the most parted output",
       .value = number(scaled),
       .chance = chance.mean,
       .standard_error = chance.deviation,
       .works = run::Works::kAbove,
       .advice = kTellUsOfWeights});
}

}  // namespace

void audit_weights(const OwnWeights& weights, const AuditOptions& options, run::AttackResults& results) {
  const torch::NoGradGuard no_grad;
  add_activations(weights, weights.last, "X_A U_A", options, results);
  if (weights.first.defined()) {
    add_activations(weights, weights.last - weights.first, "X_A (U_A - U_A at first)", options, results);
  }
  constexpr std::int64_t kFewest = 16;  // of fewer, no correlation is three standard errors from 0 by much
  if (weights.weights.defined() && weights.last.numel() < kFewest) {
    results.untried.push_back({"weights beside A's shares", "source layer '" + weights.layer + "': of " +
                                                                std::to_string(weights.last.numel()) +
                                                                " coordinates any correlation may be chance"});
    return;
  }
  if (!weights.weights.defined()) {
    results.untried.push_back({"weights beside A's shares",
                               "the weights are the sum of both parties' shares, and this party has one; a rehearsal "
                               "has both (--truth), where both kept their view"});
    return;
  }
  const ShareLikeness likeness = compare_shares(weights.last, weights.weights);
  results.figures.push_back({.attack = "weights beside A's shares",
                             .of = "source layer '" + weights.layer + "'",
                             .tries = "A's weights, coordinate by coordinate, told by A's share of them.",
                             .measure = "the correlation of shares and weights",
                             .value = likeness.correlation,
                             .chance = 0,
                             .standard_error = 1 / std::sqrt(static_cast<double>(weights.last.numel())),
                             .works = run::Works::kBothWays,
                             .advice = kTellUsOfWeights});
}

}  // namespace blindfl::lab::attacks
