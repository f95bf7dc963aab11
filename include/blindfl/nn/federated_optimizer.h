#pragma once

#include <torch/torch.h>

#include <optional>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/nn/federated_module.h"
#include "blindfl/protocol/layers/sgd_plan.h"

namespace blindfl::protocol {
class StateOrigin;
}

namespace blindfl::nn {

using protocol::LearningRateChange;
using protocol::SgdOptions;

/// SGD with momentum and weight decay, as `torch::optim::SGD` has it, on all of a module: federated parameters, where
/// each party updates its own shares, and plain ones. Follows the options' schedule by itself, step by step. Both
/// parties must use the same options: the next forward pass throws ConfigError if they do not.
class FederatedOptimizer {
 public:
  /// Throws InvalidArgument if an option is out of range, or if an update could outgrow what shares can hold.
  FederatedOptimizer(const FederatedModule& module, const SgdOptions& options);
  /// Only the federated parameters: for a top model that is trained by another optimizer.
  FederatedOptimizer(const std::vector<FederatedParameter>& parameters, const SgdOptions& options);

  FederatedOptimizer(const FederatedOptimizer&) = delete;
  FederatedOptimizer& operator=(const FederatedOptimizer&) = delete;
  ~FederatedOptimizer();

  /// Forgets all gradients, also those of a step that was begun and not finished, because the link broke for instance:
  /// state can be saved then.
  void zero_grad();
  /// One step on every parameter that a backward pass has reached since `zero_grad`. Every call counts for the
  /// schedule. Throws InvalidArgument, and changes nothing, if the options declare fewer steps.
  void step();

  [[nodiscard]] const SgdOptions& options() const { return plan_.options(); }
  /// For what cannot be planned. Takes effect at the next step. Both parties must change it at the same step.
  /// Throws InvalidArgument if the rate is out of range, or if there is a schedule.
  void set_learning_rate(double learning_rate);
  [[nodiscard]] std::size_t steps_taken() const { return steps_taken_; }

  /// Writes what the optimizer remembers: momentum, here as shares, steps taken, the learning rate of now. As secret as
  /// the model's state. What layers that update their weights themselves remember is part of theirs.
  /// Throws InvalidArgument between a backward pass and its step: take the step, or call `zero_grad`.
  void save(ByteSink& out) const;
  /// Reads what `save` wrote, and no further, into an optimizer of the same model that was made with the same options.
  /// Both parties call it at the same point. Gradients are forgotten.
  /// Cost: one message of 32 bytes; the next forward pass throws ConfigError if the peer loaded a state of another
  /// moment or training. Throws DataError, and changes nothing, if it is not that or is damaged.
  void load(ByteSource& in);

 private:
  struct Slot;
  static void check_bits(const Slot& slot, const protocol::SgdPlan& plan);
  void step(Slot& slot, double learning_rate);
  void agree() const;
  [[nodiscard]] protocol::Settings state_settings() const;
  /// Whether momentum of a slot is kept here.
  [[nodiscard]] static bool keeps(const Slot& slot);
  /// Of a plain parameter; undefined if it has none yet.
  [[nodiscard]] torch::Tensor plain_momentum(const torch::Tensor& parameter) const;
  void set_plain_momentum(const torch::Tensor& parameter, const torch::Tensor& momentum);
  [[nodiscard]] std::vector<torch::Tensor> plain_parameters() const;
  void take_learning_rate(double learning_rate);

  std::vector<Slot> slots_;
  std::vector<protocol::Session*> sessions_;  ///< of the slots, one for each peer
  std::optional<torch::optim::SGD> plain_;
  protocol::SgdPlan plan_;
  SgdOptions initial_;  ///< as they were given, whatever `set_learning_rate` did later
  std::size_t steps_taken_ = 0;
  std::vector<protocol::StateOrigin> origins_;  ///< for each session
};

}  // namespace blindfl::nn
