#pragma once

#include <cstddef>
#include <span>

namespace blindfl::train {

/// Area under the ROC curve: the chance that a positive row scores above a negative one; ties count half.
/// Labels above 0.5 are positive. Throws InvalidArgument if lengths differ, a score is not a number, or one class is
/// missing.
[[nodiscard]] double auc(std::span<const double> scores, std::span<const double> labels);

/// The share of rows whose highest of `classes` scores, row by row, is that of the label.
/// Throws InvalidArgument if lengths do not fit or there are no rows.
[[nodiscard]] double accuracy(std::span<const double> scores, std::size_t classes, std::span<const double> labels);

}  // namespace blindfl::train
