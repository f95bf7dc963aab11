#pragma once

#include <cmath>
#include <cstddef>
#include <span>

#include "blindfl/base/error.h"
#include "blindfl/nn/models.h"

namespace blindfl::nn {

/// Labels that a family cannot have train nonsense without a word otherwise: -1 and 1 instead of 0 and 1, say.
/// Throws DataError naming the row. `classes` is looked at for kMultinomial, and `largest` for kLinear, unless they are
/// 0.
template <class Number>
void check_labels(Family family, std::span<const Number> labels, std::size_t classes = 0, double largest = 0) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto label = static_cast<double>(labels[i]);
    require<DataError>(family != Family::kLogistic || (label >= 0 && label <= 1), "label of row ", i,
                       " of the batch: logistic regression takes labels between 0 and 1");
    require<DataError>(family != Family::kPoisson || label >= 0, "label of row ", i,
                       " of the batch: Poisson regression takes counts");
    require<DataError>(family != Family::kLinear || largest == 0 || std::abs(label) <= largest, "label of row ", i,
                       " of the batch: a shared top takes labels of up to ", largest, ". Standardise them");
    const bool is_class = label >= 0 && label < static_cast<double>(classes) && label == std::floor(label);
    require<DataError>(family != Family::kMultinomial || classes == 0 || is_class, "label of row ", i,
                       " of the batch: classes are numbered from 0, and there are ", classes);
  }
}

}  // namespace blindfl::nn
