#pragma once

#include <torch/torch.h>

#include <vector>

#include "blindfl/lab/attacks/success.h"

// The paper's first attack: A predicts labels by what it has of its own bottom model, X_A W_A in split learning, X_A
// U_A where weights are shared.

namespace blindfl::lab::attacks {

/// How well A tells labels by the numbers that it has of each row.
/// Needs of A's view: `contribution`, rows x outputs. `labels` are the truth, which A need not have: 0 and 1 where
/// there is one output, then comes back the AUC, and chance is 0.5; otherwise classes, of which the highest output is
/// guessed, then comes back the accuracy, and chance is the share of the most common class. Throws InvalidArgument if
/// the numbers of rows differ, or if of two classes one is missing.
[[nodiscard]] Success attack_activations(const torch::Tensor& contribution, const std::vector<double>& labels);

}  // namespace blindfl::lab::attacks
