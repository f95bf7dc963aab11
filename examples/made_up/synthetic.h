#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "blindfl/data/table.h"

namespace blindfl::made_up {

/// What a label is, and so by which law it follows from a row's score.
enum class Task {
  /// 1 with probability 1 / (1 + e^-score), else 0.
  kBinary,
  /// k in 0, 1, ..., with probability proportional to e^score_k.
  kMulticlass,
  /// The score itself.
  kRegression,
  /// Poisson with mean e^score, the score cut at 5.
  kCount,
};

/// Which data to make up. The same spec makes the same data; with more rows, the same rows and then others.
struct SyntheticSpec {
  std::size_t rows = 1000;
  /// A's columns come first.
  std::size_t columns_a = 10;
  std::size_t columns_b = 10;
  /// 1: a dense table. Less: a sparse one, whose every entry is there with this probability.
  double density = 1.0;
  /// Sparse entries are 1 instead of normal numbers.
  bool binary = false;
  Task task = Task::kBinary;
  /// For `Task::kMulticlass` only.
  std::size_t classes = 3;
  /// Deviation of a normal number added to each score, beyond what the law of the task leaves to chance.
  double noise = 0.0;
  std::uint64_t seed = 1;
};

/// Made-up data and the model behind it.
struct SyntheticData {
  /// Columns of A, then of B, and labels.
  data::Table joined;
  /// The weights that made the scores, column by column: `truth[column * outputs + output]`, with as many outputs as
  /// classes for `Task::kMulticlass` and one otherwise. There is no intercept.
  std::vector<double> truth;
};

/// Draws features, a true linear model and labels by its law. A's columns and B's carry the same share of every score,
/// however many they are, so that neither party does well alone.
/// Throws InvalidArgument if `spec` has no columns, a density outside (0, 1], binary entries in a dense table, fewer
/// than two classes, or a noise that is negative or not finite.
[[nodiscard]] SyntheticData make_synthetic(const SyntheticSpec& spec);

}  // namespace blindfl::made_up
