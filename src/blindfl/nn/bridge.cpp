#include "blindfl/nn/bridge.h"

namespace blindfl::nn {

torch::Tensor to_tensor(std::span<const double> values, std::size_t rows, std::size_t cols) {
  const auto shape = {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(cols)};
  torch::Tensor tensor = torch::empty(shape, torch::kFloat32);
  std::copy(values.begin(), values.end(), tensor.data_ptr<float>());
  return tensor;
}

torch::Tensor to_tensor(std::span<const double> values) {
  return to_tensor(values, values.size(), 1).view({-1});
}

std::vector<double> to_vector(const torch::Tensor& tensor) {
  const torch::Tensor doubles = tensor.detach().to(torch::kFloat64).contiguous();
  const auto* first = doubles.data_ptr<double>();
  return {first, first + doubles.numel()};
}

torch::Tensor labels_tensor(const data::Batch& batch) {
  return to_tensor(batch.labels);
}

}  // namespace blindfl::nn
