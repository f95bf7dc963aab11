#pragma once

#include <torch/torch.h>

#include <vector>

// The paper's third look: weights beside what A holds of them, coordinate by coordinate.

namespace blindfl::lab::attacks {

/// What a share tells of the weights.
struct ShareLikeness {
  double correlation = 0;  ///< of shares and weights over all coordinates; by chance within 2 / sqrt(coordinates)
  double equal_signs = 0;  ///< the share of coordinates where both have the same sign; by chance a half
  double weight_size = 0;  ///< root of mean squares
  double share_size = 0;
};

/// Needs of A's view: `share`, U_A or S_A read as numbers. `weights`, W_A or Q_A, are the truth.
/// Throws InvalidArgument if shapes differ or there are fewer than two coordinates.
[[nodiscard]] ShareLikeness compare_shares(const torch::Tensor& share, const torch::Tensor& weights);

}  // namespace blindfl::lab::attacks
