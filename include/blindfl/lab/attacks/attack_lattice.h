#pragma once

#include <torch/torch.h>

#include <cstddef>

#include "blindfl/lab/attacks/attack_binary_columns.h"

namespace blindfl::lab::attacks {

/// What lattice reduction makes of a single output of Z, where it is opened at full precision and B has no features:
/// the hidden subset sum problem, after Nguyen and Stern. Integer relations among the rows of Z that are short are
/// relations among the rows of X_A; what is orthogonal to all of them is the space of A's columns, and those of zeros
/// and ones are found in it. With few fractional bits there are as short relations that hold by chance.
/// Needs of B's view: `z`, one number for each row, opened at `output_scale` fractional bits, and how many columns A
/// has. Uses the first `rows` rows, at least twice as many as A has columns, and returns columns of as many.
/// Cost: one reduction of a lattice of `rows` dimensions: some hundred milliseconds for 30.
/// Throws InvalidArgument if there are fewer rows, fewer than twice the columns, more than 64, or numbers of 2^50 units
/// and more.
[[nodiscard]] RecoveredColumns attack_lattice(const torch::Tensor& z, int output_scale, std::size_t columns_a,
                                              std::size_t rows, const BinarySearch& search = {});

}  // namespace blindfl::lab::attacks
