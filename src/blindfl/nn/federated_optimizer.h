#pragma once

#include <torch/torch.h>

#include <optional>
#include <vector>

#include "blindfl/nn/federated_module.h"

namespace blindfl::nn {

struct SgdOptions {
  double learning_rate = 0.05;
  double momentum = 0.0;
  double weight_decay = 0.0;
};

/// SGD with momentum and weight decay, as `torch::optim::SGD` has it, on all of a module: federated parameters, where
/// each party updates its own pieces, and plain ones. Both parties must use the same options.
class FederatedOptimizer {
 public:
  /// Throws InvalidArgument if an option is out of range, or if momentum could outgrow what shares can hold.
  FederatedOptimizer(const FederatedModule& module, const SgdOptions& options);
  /// Only the federated parameters: for a top model that is trained by another optimizer.
  FederatedOptimizer(std::vector<FederatedParameter> parameters, const SgdOptions& options);

  void zero_grad();
  void step();

  [[nodiscard]] const SgdOptions& options() const { return options_; }
  /// Takes effect at the next step. Both parties must change it at the same step.
  void set_learning_rate(double learning_rate);

 private:
  void check() const;

  std::vector<FederatedParameter> federated_;
  std::optional<torch::optim::SGD> plain_;
  SgdOptions options_;
};

}  // namespace blindfl::nn
