#pragma once

#include <torch/torch.h>

#include <cstddef>

#include "blindfl/lab/attacks/binary_vectors.h"

// What a B that follows the protocol and only looks makes of an open top. Z is `X_A W_A + X_B W_B` of n rows, opened
// once. The columns of X_A lie in the span of (Z, X_B) as soon as Z has as many columns as X_A; those of zeros and ones
// are then found in it. SECURITY.md has the figures.

namespace blindfl::lab::attacks {

/// Columns of zeros and ones that an attack holds for A's, rows x columns.
struct RecoveredColumns {
  torch::Tensor columns;
  std::size_t dimensions = 0;  ///< of A's columns, as far as Z shows them beside B's own
};

/// `z` is rows x outputs, opened at `output_scale` fractional bits; `features_b` is rows x B's features, perhaps none.
/// Sums of columns of which no two are 1 in the same row are 0/1 columns, too, and may be among those returned.
/// Throws InvalidArgument if the numbers of rows differ.
[[nodiscard]] RecoveredColumns attack_binary_columns(const torch::Tensor& z, const torch::Tensor& features_b,
                                                     int output_scale, const BinarySearch& search = {});

/// How much of the truth was recovered.
struct RecoveredFraction {
  std::size_t recovered = 0;  ///< columns of the truth that are among those recovered, right in all rows
  std::size_t of = 0;         ///< columns of the truth that are not the same in all rows

  [[nodiscard]] double value() const {
    return of == 0 ? 0.0 : static_cast<double>(recovered) / static_cast<double>(of);
  }
};

/// `features_a` is the truth, which only tests and experiments have.
[[nodiscard]] RecoveredFraction fraction_of(const RecoveredColumns& found, const torch::Tensor& features_a);

/// How many columns of the truth lie in the span of Z and B's features, whether or not a search finds them there.
[[nodiscard]] std::size_t columns_within_reach(const torch::Tensor& z, const torch::Tensor& features_b,
                                               int output_scale, const torch::Tensor& features_a);

}  // namespace blindfl::lab::attacks
