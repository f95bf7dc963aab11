#pragma once

#include "blindfl/protocol/layers/sgd_plan.h"

namespace blindfl::protocol {

/// A weight that is updated by its layer and not by an optimizer's arithmetic on shares: under encryption, row by row,
/// or because what its gradients share is the update already. Its optimizer only says when.
class WeightUpdate {
 public:
  WeightUpdate() = default;
  WeightUpdate(const WeightUpdate&) = delete;
  WeightUpdate& operator=(const WeightUpdate&) = delete;
  virtual ~WeightUpdate() = default;

  /// What was planned when the layer was made: an optimizer must have the same.
  [[nodiscard]] virtual const SgdPlan& plan() const = 0;
  /// Applies the gradients of all backward passes since the last step.
  /// Throws InvalidArgument if there was none, where that was not planned for.
  virtual void step() = 0;
  /// Forgets them.
  virtual void discard() = 0;
  /// Whether more steps than were planned do not fit.
  [[nodiscard]] virtual bool has_room_for_planned_steps_only() const { return true; }
};

}  // namespace blindfl::protocol
