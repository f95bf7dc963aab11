#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "blindfl/mpc/party_cost.h"
#include "blindfl/mpc/prepared_phases.h"
#include "blindfl/mpc/smooth_plan.h"

namespace blindfl::mpc {

/// Of one round trip with slots, whose `owner` encrypts.
[[nodiscard]] PartyCost slot_cost(const he::SlotPlan& plan, Party owner);

/// One function of a shared matrix, or several, between the parties of a session (smooth_plan.h): the owner encrypts
/// its phases under a key that serves for this alone, with a coin of the session's; the other multiplies.
class SmoothEvaluation {
 public:
  /// The same plan and owner at both parties, which compare a digest. `session` must outlive it.
  SmoothEvaluation(Session& session, std::shared_ptr<const SmoothPlan> plan, Party owner);

  [[nodiscard]] const SmoothPlan& plan() const { return *plan_; }
  [[nodiscard]] PartyCost cost() const;

  /// This party's shares, one matrix for each function, modulo 2^128 at the plan's scale. `z` at 20 fractional bits,
  /// modulo 2^32 or more; modulo 2^128 for functions with a linear term.
  /// Cost: `cost()`, one round trip. Reveals: nothing. Error: `SmoothPlan::error`; all of a ciphertext's results are
  /// garbage with a chance that `he::SlotPlan::wraps_of_run` bounds. Values beyond the fit's interval give anything:
  /// `all_in_range` tells.
  /// Throws InvalidArgument if `z` is not what the plan is for, before anything is sent; ProtocolError if the peer's
  /// bytes are not what they must be.
  [[nodiscard]] std::vector<ShareMatrix> evaluate(const ShareMatrix& z);

 private:
  Session& session_;
  std::shared_ptr<const SmoothPlan> plan_;
  Party owner_;
  std::uint32_t layer_;
};

/// The same with the round trip done ahead, whenever parties have time (prepared_phases.h): what is left when there are
/// values is 4 bytes for each, both ways at the same time.
class PreparedEvaluation {
 public:
  /// As `SmoothEvaluation`. `function` has the frequencies that the plan was made for.
  PreparedEvaluation(Session& session, std::shared_ptr<const PreparationPlan> plan, SmoothFunction function,
                     Party owner);

  [[nodiscard]] PartyCost cost_ahead() const;
  [[nodiscard]] PartyCost cost() const;
  [[nodiscard]] std::size_t prepared() const { return prepared_.size(); }

  /// For one more z; both parties at the same point. Cost: `cost_ahead()`. Reveals: nothing.
  void prepare();
  /// This party's shares of the functions at `z`, as `SmoothEvaluation::evaluate`, with what was prepared first; if
  /// nothing was, it is now. Cost: `cost()`, one flight. Reveals: nothing, z less uniformly random numbers. Error:
  /// `PreparationPlan::error`. Throws InvalidArgument if `z` is not what was prepared for, before anything is sent.
  [[nodiscard]] std::vector<ShareMatrix> evaluate(const ShareMatrix& z);
  /// Forgets what was prepared: where a run goes back to an earlier state, at both parties.
  void forget() { prepared_.clear(); }

 private:
  Session& session_;
  std::shared_ptr<const PreparationPlan> plan_;
  SmoothFunction function_;
  Party owner_;
  std::uint32_t layer_;
  std::deque<PreparedPhases> prepared_;
};

}  // namespace blindfl::mpc
