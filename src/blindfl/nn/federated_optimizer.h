#pragma once

#include <torch/torch.h>

#include <optional>
#include <string>
#include <vector>

#include "blindfl/nn/federated_module.h"

namespace blindfl::nn {

struct SgdOptions {
  double learning_rate = 0.05;
  double momentum = 0.0;
  double weight_decay = 0.0;

  /// For comparing the two parties' options.
  [[nodiscard]] protocol::Settings settings() const;
};

/// SGD with momentum and weight decay, as `torch::optim::SGD` has it, on all of a module: federated parameters, where
/// each party updates its own pieces, and plain ones. Both parties must use the same options: the next forward pass
/// throws ConfigError if they do not.
class FederatedOptimizer {
 public:
  /// Throws InvalidArgument if an option is out of range, or if an update could outgrow what shares can hold.
  FederatedOptimizer(const FederatedModule& module, const SgdOptions& options);
  /// Only the federated parameters: for a top model that is trained by another optimizer.
  FederatedOptimizer(const std::vector<FederatedParameter>& parameters, const SgdOptions& options);

  void zero_grad();
  /// One step on every parameter that a backward pass has reached since `zero_grad`.
  void step();

  [[nodiscard]] const SgdOptions& options() const { return options_; }
  /// Takes effect at the next step. Both parties must change it at the same step.
  void set_learning_rate(double learning_rate);

 private:
  /// A federated parameter and what the optimizer remembers of it.
  struct Slot {
    FederatedParameter parameter;
    std::optional<ShareMatrix> momentum;
    std::size_t most_passes = 1;
  };
  void check_options() const;
  void check_bits(const Slot& slot) const;
  void step(Slot& slot);
  void agree() const;

  std::vector<Slot> slots_;
  std::optional<torch::optim::SGD> plain_;
  SgdOptions options_;
};

}  // namespace blindfl::nn
