#pragma once

namespace blindfl {

/// What a model's scores mean: which loss they are trained with, and how they become predictions. Here and not in nn,
/// so that programs without torch can name it.
enum class Family {
  kLogistic,     ///< one score, labels 0 and 1
  kMultinomial,  ///< one score per class, labels 0, 1, 2, ...
  kLinear,       ///< one score, real labels, half the squared error
  kPoisson,      ///< one score, the logarithm of the expected count
};

}  // namespace blindfl
