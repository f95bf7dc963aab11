#pragma once

#include <memory>
#include <optional>
#include <string>

#include "blindfl/protocol/matmul.h"

namespace blindfl::nn {

/// This party's piece of a weight matrix that nobody holds whole, with its gradient.
///
/// Not a tensor, and not among `Module::parameters()`: a plain optimizer neither sees nor changes it. A handle: copies
/// stand for the same parameter.
class FederatedParameter {
 public:
  /// `layer` keeps the weight alive; `batch` is the factor between the gradients kept here and those of the loss.
  FederatedParameter(std::shared_ptr<protocol::MatMul> layer, protocol::Party features_of);

  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] protocol::Party features_of() const;
  /// This party's piece; the weight itself is the sum of both parties' pieces.
  [[nodiscard]] const ShareMatrix& piece() const;
  /// This party's share of `batch` times the gradient; nothing before a backward pass, or where it has no share.
  [[nodiscard]] const std::optional<ShareMatrix>& grad() const;
  [[nodiscard]] const protocol::MatMulParams& params() const;
  /// The factor between the gradients kept here and those of the loss.
  [[nodiscard]] double batch() const;

  /// Called by a backward pass at both parties, also where this one has no share. Adds up, as torch's gradients do.
  void accumulate_grad(const std::optional<ShareMatrix>& share);
  void zero_grad();

  struct SgdStep {
    double learning_rate = 0.0;
    double momentum = 0.0;
    double weight_decay = 0.0;
  };
  /// One step of SGD on this party's piece, as torch's: nothing happens without a backward pass since `zero_grad`.
  void step(const SgdStep& sgd);

 private:
  struct State {
    std::shared_ptr<protocol::MatMul> layer;
    protocol::Weight* weight = nullptr;
    bool has_grad = false;  // at both parties alike
    std::optional<ShareMatrix> grad;
    std::optional<ShareMatrix> momentum;
  };
  std::shared_ptr<State> state_;
};

}  // namespace blindfl::nn
