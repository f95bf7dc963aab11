#pragma once

#include "blindfl/protocol/layers/sgd_plan.h"

namespace blindfl::protocol {

/// A weight that is updated by its layer and not by an optimizer's arithmetic on shares: under encryption, or row by
/// row. Its optimizer only says when.
class WeightUpdate {
 public:
  WeightUpdate() = default;
  WeightUpdate(const WeightUpdate&) = delete;
  WeightUpdate& operator=(const WeightUpdate&) = delete;
  virtual ~WeightUpdate() = default;

  /// What was planned when the layer was made: an optimizer must have the same.
  [[nodiscard]] virtual const SgdPlan& plan() const = 0;
  /// Applies the gradients of all backward passes since the last step.
  /// Throws InvalidArgument if there was none.
  virtual void step() = 0;
  /// Forgets them.
  virtual void discard() = 0;
};

}  // namespace blindfl::protocol
