#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace blindfl::testing {

inline double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

inline double deviation(const std::vector<double>& values) {
  const double centre = mean(values);
  double squares = 0;
  for (const double v : values) squares += (v - centre) * (v - centre);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

/// The chance that a row with label 1 has a higher score than one with label 0.
inline double auc(const std::vector<double>& score, const std::vector<double>& labels) {
  std::vector<std::size_t> order(score.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return score[i]; });
  double negatives = 0;
  double positives = 0;
  double won = 0;
  for (const std::size_t i : order) {
    if (labels[i] == 1) {
      won += negatives;
      ++positives;
    } else {
      ++negatives;
    }
  }
  return won / (positives * negatives);
}

}  // namespace blindfl::testing
