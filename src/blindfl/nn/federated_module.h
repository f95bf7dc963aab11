#pragma once

#include <torch/torch.h>

#include <vector>

#include "blindfl/nn/federated_parameter.h"

namespace blindfl::nn {

/// The base of every module with a federated layer inside: `torch::nn::Module` plus the parameters that no tensor
/// holds.
///
/// ```
/// struct LogisticRegressionImpl : blindfl::FederatedModule {
///   LogisticRegressionImpl(blindfl::Session& s, const blindfl::FeatureShape& x)
///       : source(register_module("source", blindfl::MatMul(s, x, /*out=*/1))),
///         bias(register_parameter("bias", torch::zeros({1}))) {}
///   torch::Tensor forward(const blindfl::Batch& x) { return source(x) + bias; }
///   blindfl::MatMul source;
///   torch::Tensor bias;
/// };
/// ```
/// Both parties run the same lines. At B, `source(x)` is Z; at A it has no rows, and A's `backward()` takes part in the
/// same protocol step. A's copy of what follows the source layer is never trained.
class FederatedModule : public torch::nn::Module {
 public:
  using torch::nn::Module::Module;

  /// The federated parameters of this module and of all modules below it.
  [[nodiscard]] std::vector<FederatedParameter> federated_parameters() const;

 protected:
  /// Makes `parameter` one of this module's own; returns it.
  FederatedParameter register_federated(FederatedParameter parameter);

 private:
  std::vector<FederatedParameter> own_;
};

}  // namespace blindfl::nn
