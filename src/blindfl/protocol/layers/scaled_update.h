#pragma once

#include <cstdint>
#include <optional>

#include "blindfl/base/bytes.h"
#include "blindfl/protocol/layers/weight.h"
#include "blindfl/protocol/layers/weight_update.h"

namespace blindfl::protocol {

/// Plain SGD on shares that are never read as numbers. The derivative is multiplied with the learning rate before it is
/// encrypted, so that shares of the product are shares of the update itself, in the ring of the weights and a few bits
/// more: both parties round these off and subtract. Nothing is lifted, so that nothing can fail. It takes a plan that
/// knows every learning rate, and has neither momentum nor weight decay, which would multiply shares.
class ScaledUpdate final : public WeightUpdate {
 public:
  /// `weight` must outlive this: it owns its update, so an update cannot own it.
  ScaledUpdate(Weight& weight, const SgdPlan& plan);

  /// Of the step whose gradients are next.
  [[nodiscard]] double learning_rate() const { return rates_.learning_rate_at(steps_); }
  /// Keeps a share of the update of one backward pass, at the weight's scale or a finer one, for the next step.
  void add(const ShareMatrix& share);

  [[nodiscard]] const SgdPlan& plan() const override { return plan_; }
  /// A step without a backward pass only counts.
  void step() override;
  void discard() override { pending_.reset(); }
  [[nodiscard]] bool has_room_for_planned_steps_only() const override { return false; }

  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  /// Writes what there is beside the weight. Throws InvalidArgument between a backward pass and its step.
  void save(ByteSink& out) const;
  /// Reads what `save` wrote, and no further. Throws DataError if it cannot be.
  void load(ByteSource& in);

 private:
  Weight& weight_;
  SgdPlan plan_;
  SgdPlan rates_;  ///< the same for any number of steps
  std::uint64_t steps_ = 0;
  std::optional<ShareMatrix> pending_;
};

}  // namespace blindfl::protocol
