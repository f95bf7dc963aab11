#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "blindfl/mpc/smooth_plan.h"

// The same functions with nearly all of the work done ahead, while parties wait: shares of e^(i w_j r) for a random
// r = r_A + r_B, and later z - r, which tells nothing, in the open:
//
//   ahead:   PreparingOwner      --- operand --->   prepare_phases
//                                <--- reply -----
//   later:   PreparedPhases::mask(z)   --- 4 bytes a value, both ways at the same time ---   PreparedPhases::mask(z)
//            PreparedPhases::finish                                                          PreparedPhases::finish
//
// since e^(i w z) = e^(i w (z - r)) e^(i w r), the first factor public. Any functions on the same frequencies; but r
// serves for one z.

namespace blindfl::mpc {

/// What is prepared: for so many values, and functions on these frequencies.
class PreparationPlan {
 public:
  /// `run_replies`, `error`: of the prepared numbers, as in he::SlotSpec.
  PreparationPlan(std::shared_ptr<const he::Slots> slots, const SmoothFunction& function, const SmoothSpec& spec);

  [[nodiscard]] std::size_t values() const { return products_->spec().values; }
  [[nodiscard]] const he::Slots& slots() const { return *slots_; }
  [[nodiscard]] const std::shared_ptr<const he::SlotPlan>& products() const { return products_; }
  [[nodiscard]] std::uint64_t operand_bytes() const { return products_->operand_bytes(); }
  [[nodiscard]] std::uint64_t reply_bytes() const { return products_->reply_bytes(); }
  /// Of what `finish` gives, as `SmoothPlan::error`.
  [[nodiscard]] double error(const SmoothFunction::Part& part) const;

 private:
  std::shared_ptr<const he::Slots> slots_;
  std::shared_ptr<const he::SlotPlan> products_;
};

/// One party's half of what was prepared. For one z: its secrets are gone after `finish`, and with it.
class PreparedPhases {
 public:
  PreparedPhases(std::shared_ptr<const PreparationPlan> plan, SecretVector<std::uint32_t> r,
                 std::vector<ShareMatrix> phases, Constants constants);
  PreparedPhases(PreparedPhases&& other) noexcept = default;
  PreparedPhases& operator=(PreparedPhases&& other) noexcept = default;
  PreparedPhases(const PreparedPhases&) = delete;
  PreparedPhases& operator=(const PreparedPhases&) = delete;
  ~PreparedPhases() = default;

  /// This party's share of z - r, for the peer: `values()` numbers of 4 bytes. `z` as in smooth_plan.h.
  /// Reveals: nothing, r is uniform. Throws InvalidArgument if it was called before, or if `z` has another size or
  /// scale.
  void mask(ShareMatrix z, ByteSink& out);
  /// Reads the peer's, and returns this party's shares of the functions at z.
  /// Throws InvalidArgument unless `mask` was called, once, and this was not; or if the function has other frequencies,
  /// ProtocolError if there are too few bytes.
  [[nodiscard]] std::vector<ShareMatrix> finish(const SmoothFunction& function, ByteSource& peer);

 private:
  std::shared_ptr<const PreparationPlan> plan_;
  SecretVector<std::uint32_t> r_;    // emptied by mask()
  std::vector<ShareMatrix> phases_;  // real and imaginary parts, a row for each frequency; emptied by finish()
  Constants constants_;
  ShareMatrix z_;
  SecretVector<std::uint32_t> masked_;
};

/// The party that encrypts, until the reply is there.
class PreparingOwner {
 public:
  PreparingOwner(std::shared_ptr<const PreparationPlan> plan, const he::Coin& coin, Random& random, ThreadPool& pool,
                 ByteSink& operand);
  /// Once.
  [[nodiscard]] PreparedPhases open(ByteSource& reply, ThreadPool& pool);

 private:
  std::shared_ptr<const PreparationPlan> plan_;
  SecretVector<std::uint32_t> r_;
  std::unique_ptr<he::SlotKey> key_;
};

/// The other party.
[[nodiscard]] PreparedPhases prepare_phases(std::shared_ptr<const PreparationPlan> plan, const he::Coin& coin,
                                            ByteSource& operand, Random& random, ThreadPool& pool, ByteSink& reply);

}  // namespace blindfl::mpc
