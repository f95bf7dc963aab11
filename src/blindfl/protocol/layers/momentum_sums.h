#pragma once

#include <cstddef>
#include <vector>

#include "blindfl/protocol/layers/sgd_plan.h"

namespace blindfl::protocol {

/// SGD with momentum as two running sums, so that what is encrypted is only ever added to.
///
/// With buf_t = mu buf_{t-1} + g_t and W_{t+1} = W_t - eta_t buf_t, steps counted from 0, let
/// c_s = sum over t >= s of eta_t mu^(t-s), the last rate continued for ever. Then after T steps
///
///   W_T = W_0 - ( sum over s < T of c_s g_s  -  c_T mu^T sum over s < T of mu^(-s) g_s ).
///
/// The second sum outgrows any slot, so it is kept in windows, each counted from its own start; a window is forgotten
/// when even its latest gradient has faded to less than 2^-32 of itself.
class MomentumSums {
 public:
  explicit MomentumSums(const SgdPlan& plan);

  [[nodiscard]] bool has_momentum() const { return momentum_ != 0; }
  /// c_s: what a gradient of step `step` moves the weights by in the end.
  [[nodiscard]] double coefficient(std::size_t step) const;
  /// The largest of them.
  [[nodiscard]] double largest_coefficient() const { return largest_; }

  /// Steps in a window.
  [[nodiscard]] std::size_t window() const { return window_; }
  [[nodiscard]] std::size_t window_of(std::size_t step) const { return step / window_; }
  /// mu^-(step - start of its window): what a gradient is multiplied by in its window's sum.
  [[nodiscard]] double growth(std::size_t step) const;
  /// No growth exceeds this, nor does the sum of all in a window exceed it times 1 / (1 - mu).
  [[nodiscard]] double largest_growth() const;
  /// c_T mu^(T - start of the window): what a window's sum is multiplied by after `steps` steps.
  [[nodiscard]] double fading(std::size_t steps, std::size_t window) const;
  /// mu^idle, and what the weights have moved by per unit of momentum during `idle` steps from `step` on without a
  /// gradient.
  struct Idle {
    double momentum;
    double moved;
  };
  [[nodiscard]] Idle idle(std::size_t step, std::size_t idle) const;

 private:
  struct Piece {
    std::size_t from;
    double rate;
  };
  double momentum_;
  std::vector<Piece> pieces_;  ///< of the schedule, the first from step 0
  std::size_t window_;
  double largest_ = 0;
};

}  // namespace blindfl::protocol
