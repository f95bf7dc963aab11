#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "blindfl/run/metrics.h"

namespace blindfl::run {

/// Rows by what they are and by what is predicted of them: for whoever has the labels.
struct ConfusionMatrix {
  std::vector<std::string> classes = {};  ///< their names
  std::vector<double> counts = {};        ///< rows, or their weights: for each true class, one for each predicted one

  [[nodiscard]] bool empty() const { return classes.empty(); }
  [[nodiscard]] double at(std::size_t truth, std::size_t predicted) const {
    return counts.at(truth * classes.size() + predicted);
  }
  /// Rows of a class, and rows that are taken for it.
  [[nodiscard]] double true_rows(std::size_t c) const;
  [[nodiscard]] double predicted_rows(std::size_t c) const;
  /// Of the rows that are taken for the class, the share that are of it. 0 if there are none.
  [[nodiscard]] double precision(std::size_t c) const;
  /// Of the rows of the class, the share that are taken for it. 0 if there are none.
  [[nodiscard]] double recall(std::size_t c) const;
};

/// A matrix of more classes is of no use to anybody: summaries, reports and screens leave it out.
constexpr std::size_t kMostShownClasses = 20;

/// By the highest of the scores in each row, one for each class; or, for one score in each row and two classes, by
/// whether it is above `threshold`. Labels are 0 to `classes` - 1.
/// Throws InvalidArgument as metrics do, if a label is no class, or for one score in each row of more than two classes.
[[nodiscard]] ConfusionMatrix confusion_matrix(Numbers scores, Numbers labels, std::vector<std::string> classes,
                                               double threshold = 0.5, Numbers weights = {});

/// For a screen: a line for each class with its rows, precision, recall and what its rows are taken for.
[[nodiscard]] std::string confusion_text(const ConfusionMatrix& matrix);

}  // namespace blindfl::run
