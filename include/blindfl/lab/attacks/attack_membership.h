#pragma once

#include <torch/torch.h>

#include <vector>

#include "blindfl/lab/attacks/success.h"
#include "blindfl/tensor/family.h"

namespace blindfl::lab::attacks {

/// Scores of rows whose labels the attacker knows.
struct ScoredRows {
  torch::Tensor scores;  ///< rows x outputs, as the model gives them: not yet probabilities
  std::vector<double> labels;
};

/// Whether a row was trained with, by its released score: a model's loss is smaller on rows that it has seen.
/// Needs of whoever gets scores, B or those whom B gives them to: scores of rows whose labels it knows. `trained` and
/// `fresh` say which were trained with: the truth, which the attacker has not. The AUC of telling them apart by the
/// loss; chance is 0.5, which rows of one law get from a model that learnt nothing by heart.
/// Throws InvalidArgument if there are no rows, or scores and labels do not fit together or to the family.
[[nodiscard]] Success attack_membership(Family family, const ScoredRows& trained, const ScoredRows& fresh);

}  // namespace blindfl::lab::attacks
