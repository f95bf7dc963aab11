#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "blindfl/lab/attacks/success.h"

// The paper's second attack, and one of ours: A reads labels of training rows out of the derivatives that it gets. Rows
// of the two classes pull in opposite directions; and rows of the rarer class pull harder.

namespace blindfl::lab::attacks {

/// What the directions of derivatives tell of two classes.
struct ToldLabels {
  /// The share of rows whose class is right, by the sign of the cosine with the reference; which sign is which class is
  /// taken as fits better.
  double accuracy = 0;
  /// The mean over the two classes of the share that is right, where the class of the reference is known to A: half for
  /// directions that have nothing to do with labels, whatever the classes' shares.
  double balanced = 0;
  /// What guessing the more common class for all rows gets of the accuracy.
  double guess = 0;
  torch::Tensor cosines;  ///< of each row with the reference
};

/// The row whose derivative is the longest: it pulls hardest, so that its label is the least in doubt.
[[nodiscard]] std::int64_t longest_row(const torch::Tensor& derivatives);

/// Labels by the sign of the cosine between each row's derivative and that of row `reference`, which is left out.
/// Needs of A's view: `derivatives`, rows x numbers: dE_A or dZ_A, a share of it, or a ciphertext read as numbers.
/// `labels`, 0 and 1, are the truth, which A need not have.
/// Throws InvalidArgument if the numbers of rows differ, the reference does not exist, or one class is missing.
[[nodiscard]] ToldLabels attack_directions(const torch::Tensor& derivatives, const std::vector<double>& labels,
                                           std::int64_t reference);

/// Labels by how long each row's derivative is: the AUC for the rarer class, of which a model that is right on average
/// is less sure. Chance is 0.5. Needs and throws as `attack_directions`.
[[nodiscard]] Success attack_norms(const torch::Tensor& derivatives, const std::vector<double>& labels);

}  // namespace blindfl::lab::attacks
