#pragma once

#include <torch/torch.h>

#include <optional>
#include <string>
#include <vector>

#include "blindfl/nn/federated_module.h"
#include "blindfl/protocol/sgd_plan.h"

namespace blindfl::nn {

using protocol::LearningRateChange;
using protocol::SgdOptions;

/// SGD with momentum and weight decay, as `torch::optim::SGD` has it, on all of a module: federated parameters, where
/// each party updates its own pieces, and plain ones. Follows the options' schedule by itself, step by step. Both
/// parties must use the same options: the next forward pass throws ConfigError if they do not.
class FederatedOptimizer {
 public:
  /// Throws InvalidArgument if an option is out of range, or if an update could outgrow what shares can hold.
  FederatedOptimizer(const FederatedModule& module, const SgdOptions& options);
  /// Only the federated parameters: for a top model that is trained by another optimizer.
  FederatedOptimizer(const std::vector<FederatedParameter>& parameters, const SgdOptions& options);

  void zero_grad();
  /// One step on every parameter that a backward pass has reached since `zero_grad`. Every call counts for the
  /// schedule. Throws InvalidArgument, and changes nothing, if the options declare fewer steps.
  void step();

  [[nodiscard]] const SgdOptions& options() const { return plan_.options(); }
  /// For what cannot be planned. Takes effect at the next step. Both parties must change it at the same step.
  /// Throws InvalidArgument if the rate is out of range, or if there is a schedule.
  void set_learning_rate(double learning_rate);

 private:
  /// A federated parameter and what the optimizer remembers of it.
  struct Slot {
    FederatedParameter parameter;
    std::optional<ShareMatrix> momentum;
    std::size_t most_passes = 1;
  };
  static void check_bits(const Slot& slot, const protocol::SgdPlan& plan);
  void step(Slot& slot, double learning_rate);
  void agree() const;

  std::vector<Slot> slots_;
  std::optional<torch::optim::SGD> plain_;
  protocol::SgdPlan plan_;
  std::size_t steps_taken_ = 0;
};

}  // namespace blindfl::nn
