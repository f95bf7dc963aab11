#include "blindfl/lab/local_factorization.h"

#include <cmath>

#include "blindfl/nn/bridge.h"

namespace blindfl::lab {

namespace {

torch::Tensor squared(const torch::Tensor& features) {
  if (!features.is_sparse()) return features.square();
  return torch::sparse_coo_tensor(features.indices(), features.values().square(), features.sizes()).coalesce();
}

}  // namespace

// With the standard deviation that the source layer starts with.
LocalFactorizationMachineImpl::LocalFactorizationMachineImpl(std::size_t inputs, std::size_t factors, Diagonal diagonal)
    : weight(register_parameter(
          "weight", torch::randn({nn::torch_size(inputs), nn::torch_size(nn::factorization_width(factors))}) /
                        std::sqrt(3.0 * static_cast<double>(inputs)))),
      top(register_module("top", nn::FactorizationTop())),
      diagonal_(diagonal) {}

torch::Tensor LocalFactorizationMachineImpl::forward(const torch::Tensor& features) {
  const torch::Tensor scores = top(torch::mm(features, weight));
  if (diagonal_ == Diagonal::kInWeights) return scores;
  const torch::Tensor lengths = weight.slice(1, 1).square().sum(1, /*keepdim=*/true);
  return scores - 0.5 * torch::mm(squared(features), lengths);
}

void fit(LocalFactorizationMachine& model, nn::Family family, const data::Table& rows,
         const train::TrainOptions& options) {
  const auto forward = [&](std::span<const std::uint32_t> chosen) {
    return model->forward(features_tensor(rows.select_rows(chosen)));
  };
  fit(*model, forward, family, rows.labels(), options);
}

torch::Tensor score(LocalFactorizationMachine& model, const data::Table& rows) {
  const torch::NoGradGuard no_grad;
  return model->forward(features_tensor(rows));
}

}  // namespace blindfl::lab
