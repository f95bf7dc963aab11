#pragma once

#include <torch/torch.h>

namespace blindfl::lab::attacks {

/// How near a model that was fitted to released scores comes to the one that made them, on rows of their own.
struct StolenModel {
  double correlation = 0;  ///< of its scores with the model's
  double agreement = 0;    ///< the share of rows to which both give the same of two classes, by the sign of the score
  double common = 0;       ///< the share of the more common of these: what one answer for all rows agrees with
};

/// Fits a linear model with a constant to released scores by least squares, and looks at it on fresh rows: how much of
/// a model leaves with its scores.
/// Needs of the attacker's view: `queried`, rows x its features, and the scores of these rows, one for each: logits,
/// rounded or not. `fresh` and `fresh_scores` are what it is measured by.
/// Reveals: of a linear model of features that it has all of, the weights, as soon as there are as many rows. B alone
/// lacks A's features: what it can steal is what its own explain.
/// Cost: one singular value decomposition. Throws InvalidArgument if numbers of rows or features differ, or there are
/// no more rows than features.
[[nodiscard]] StolenModel attack_model(const torch::Tensor& queried, const torch::Tensor& scores,
                                       const torch::Tensor& fresh, const torch::Tensor& fresh_scores);

}  // namespace blindfl::lab::attacks
