#include "blindfl/train/metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "blindfl/base/error.h"

namespace blindfl::train {

double auc(std::span<const double> scores, std::span<const double> labels) {
  require<InvalidArgument>(scores.size() == labels.size(), "AUC: ", scores.size(), " scores and ", labels.size(),
                           " labels");
  require<InvalidArgument>(std::ranges::none_of(scores, [](double s) { return std::isnan(s); }),
                           "AUC: a score is not a number");
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return scores[i]; });

  // Mann-Whitney: each positive wins against the negatives below it, and half against those it ties with.
  double wins = 0;
  double negatives = 0;
  double positives = 0;
  for (std::size_t begin = 0; begin < order.size();) {
    double tied_negatives = 0;
    double tied_positives = 0;
    std::size_t end = begin;
    for (; end < order.size() && scores[order[end]] == scores[order[begin]]; ++end) {
      (labels[order[end]] > 0.5 ? tied_positives : tied_negatives) += 1;
    }
    wins += tied_positives * (negatives + 0.5 * tied_negatives);
    negatives += tied_negatives;
    positives += tied_positives;
    begin = end;
  }
  require<InvalidArgument>(positives > 0 && negatives > 0, "AUC: needs rows of both classes");
  return wins / (positives * negatives);
}

double accuracy(std::span<const double> scores, std::size_t classes, std::span<const double> labels) {
  require<InvalidArgument>(classes > 0 && !labels.empty() && scores.size() == labels.size() * classes,
                           "accuracy: ", scores.size(), " scores do not make ", labels.size(), " rows of ", classes,
                           " classes");
  std::size_t right = 0;
  for (std::size_t r = 0; r < labels.size(); ++r) {
    const auto row = scores.subspan(r * classes, classes);
    const auto best = std::ranges::max_element(row) - row.begin();
    right += static_cast<std::size_t>(static_cast<double>(best) == labels[r]);
  }
  return static_cast<double>(right) / static_cast<double>(labels.size());
}

}  // namespace blindfl::train
