#pragma once

#include <torch/torch.h>

#include <string>

#include "blindfl/base/bytes.h"

namespace blindfl::nn {

/// Type and shape: all that saved values must fit. Throws InvalidArgument if the tensor is not a dense one.
[[nodiscard]] std::string shape_in_words(const torch::Tensor& tensor);

/// Writes the values row by row, as they lie in memory.
void write_values(ByteSink& out, const torch::Tensor& tensor);
/// Values for a tensor of this type and shape, in memory of the processor. Throws DataError if they cannot be.
[[nodiscard]] torch::Tensor read_values(ByteSource& in, const torch::Tensor& like);

}  // namespace blindfl::nn
