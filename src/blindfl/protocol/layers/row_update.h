#pragma once

#include <cstdint>
#include <vector>

#include "blindfl/protocol/layers/momentum_sums.h"
#include "blindfl/protocol/layers/weight.h"
#include "blindfl/protocol/layers/weight_update.h"
#include "blindfl/protocol/session/output.h"

namespace blindfl::protocol {

/// B's own share of its own weights, whose gradient B knows: updated where a batch has features and nowhere else, so
/// that a step costs what the batch does. A row that had no gradient for a while is moved by what its momentum did
/// meanwhile when it is next needed.
class RowUpdate final : public WeightUpdate {
 public:
  /// Rows of `weight` are features. `weight` must outlive this: it owns its update, so an update cannot own it.
  RowUpdate(Weight& weight, const SgdPlan& plan);

  /// Brings the rows that `x` needs up to date: before a forward pass.
  void refresh(const IntMatrix& x);
  /// Brings all rows up to date: before the share is read as a whole.
  void refresh_all();
  /// Keeps the gradient of a backward pass, `transpose(x) dZ`, for the next step.
  void add_gradient(const IntMatrix& x, const Derivative& derivative);

  [[nodiscard]] const SgdPlan& plan() const override { return plan_; }
  void step() override;
  void discard() override { pending_.clear(); }

  [[nodiscard]] std::size_t steps() const { return steps_; }
  /// Writes the share and its momentum. Throws InvalidArgument between a backward pass and its step.
  void save(ByteSink& out) const;
  /// Reads what `save` wrote, and no further. Throws DataError, and changes nothing, if it is not that, or of a weight
  /// of another shape or plan.
  void load(ByteSource& in);

 private:
  struct Pending {
    IntMatrix x;
    std::vector<double> derivative;  ///< of the mean loss, row by row
  };
  [[nodiscard]] std::size_t touch(std::size_t row);
  void catch_up(std::size_t position);
  void subtract(std::size_t row, std::size_t col, double step);

  Weight& weight_;
  SgdPlan plan_;
  MomentumSums sums_;
  std::size_t steps_ = 0;
  std::vector<Pending> pending_;
  std::vector<std::uint32_t> position_;  ///< of each row, from 1; 0: never touched
  // Of each touched row:
  std::vector<std::uint32_t> rows_;
  std::vector<std::size_t> up_to_;  ///< steps that it has seen
  SecretVector<double> momentum_;
  SecretVector<double> gradient_;
};

}  // namespace blindfl::protocol
