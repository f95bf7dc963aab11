#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "blindfl/app/job/job.h"
#include "blindfl/app/job/preparation.h"
#include "blindfl/protocol/align/psi.h"

namespace blindfl::app {

/// How much B's rows count in the loss.
struct Weighting {
  std::vector<double> by_class{};  ///< in the order of the classes; empty: all alike
  /// By how much derivatives of a batch's real rows may be scaled up for its placeholders: twice what that is for all
  /// rows together, so that they stay in their range whichever rows meet in a batch.
  double most_for_placeholders = 1;
  std::vector<double> by_row{};  ///< of each row of the training file, 1 on average over those trained on; empty: alike
  /// The same of the rows that are validated with, under a shared top, where no score is opened to be weighted.
  std::vector<double> by_validated_row{};
};

/// What B's job says, with balanced weights counted in the rows that are trained on: all / (classes * rows of a class).
/// Throws DataError if no row counts; ConfigError if the derivative of a heavy row would leave the agreed range, or,
/// under a shared top, if a row counts more than weights can say, or so few of `validated` count that their mean loss
/// would tell of each.
[[nodiscard]] Weighting weighting_of(const job::Job& job, const PreparedRows& rows, const protocol::Alignment& training,
                                     const protocol::Alignment& validated = {});

/// "positive class: yes; the other: no", or "classes: a, b, c"; empty if labels are numbers.
[[nodiscard]] std::string class_words(const job::Model& model, const std::vector<std::string>& classes);
/// "class weights: no 1, yes 2.5"; empty if there are none.
[[nodiscard]] std::string weight_words(const std::vector<std::string>& classes, const std::vector<double>& weights);

}  // namespace blindfl::app
