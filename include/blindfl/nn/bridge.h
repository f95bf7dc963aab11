#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <span>
#include <vector>

#include "blindfl/data/batches.h"

namespace blindfl::nn {

/// A size as torch has it.
[[nodiscard]] inline std::int64_t torch_size(std::size_t n) {
  return static_cast<std::int64_t>(n);
}

/// A matrix of reals, row by row, as a float tensor.
[[nodiscard]] torch::Tensor to_tensor(std::span<const double> values, std::size_t rows, std::size_t cols);

/// The same as a vector.
[[nodiscard]] torch::Tensor to_tensor(std::span<const double> values);

/// The values of a tensor, row by row.
[[nodiscard]] std::vector<double> to_vector(const torch::Tensor& tensor);

/// A batch's labels as a float vector: empty at A.
[[nodiscard]] torch::Tensor labels_tensor(const data::Batch& batch);

}  // namespace blindfl::nn
