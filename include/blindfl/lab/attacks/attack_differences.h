#pragma once

#include <torch/torch.h>

#include <vector>

#include "blindfl/lab/attacks/attack_binary_columns.h"

namespace blindfl::lab::attacks {

/// What B has after the same rows were opened once more: Z, and its own share of its weights at that time.
struct Opening {
  torch::Tensor z;        ///< rows x outputs
  torch::Tensor share_b;  ///< U_B, B's features x outputs
};

/// What a B that follows the protocol and only looks makes of rows that are opened again while weights change, with any
/// number of outputs. A's share of B's weights never changes without weight decay, so
/// `Z(t) - Z(1) - X_B (U_B(t) - U_B(1))` is `X_A (W_A(t) - W_A(1))` up to the rounding, whatever the initial weights
/// were; columns of zeros and ones are found in the span of all these. Throws InvalidArgument if there are fewer than
/// two openings, or shapes differ.
[[nodiscard]] RecoveredColumns attack_differences(const std::vector<Opening>& openings, const torch::Tensor& features_b,
                                                  int output_scale, const BinarySearch& search = {});

}  // namespace blindfl::lab::attacks
