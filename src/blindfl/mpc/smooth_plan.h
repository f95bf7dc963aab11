#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "blindfl/he/slots.h"
#include "blindfl/mpc/smooth_function.h"
#include "blindfl/share/share_matrix.h"

// Functions of a shared matrix z in one round trip, as local steps: bytes in, bytes out.
//
//   owner                                              multiplier
//     SmoothOwner(plan, z): operand   --- operand --->   multiply_smooth(plan, z): its shares of f(z), f'(z), ...
//     SmoothOwner::open: its shares   <--- reply -----
//
// Both hold a share of z at 20 fractional bits: modulo 2^32, which is all that waves see, or, for functions with a
// linear term, modulo 2^128. What z is beyond `SmoothFunction::low()` and `high()` nobody notices: that is the caller's
// to see to.

namespace blindfl::mpc {

/// The public facts of an evaluation, the same at both parties.
struct SmoothSpec {
  std::size_t rows = 0;
  std::size_t cols = 0;
  int result_scale = 32;
  /// `he::SlotSpec::run_replies`.
  std::uint64_t run_replies = 0;
  /// Above 0: what products may add to the error of the fit; refused otherwise.
  double error = 0;
};

class SmoothPlan {
 public:
  /// Throws InvalidArgument, with the numbers, if the asked-for error cannot be had.
  SmoothPlan(std::shared_ptr<const he::Slots> slots, SmoothFunction function, const SmoothSpec& spec);

  [[nodiscard]] const SmoothFunction& function() const { return function_; }
  [[nodiscard]] const SmoothSpec& spec() const { return spec_; }
  [[nodiscard]] const he::Slots& slots() const { return *slots_; }
  [[nodiscard]] const std::shared_ptr<const he::SlotPlan>& products() const { return products_; }
  [[nodiscard]] std::uint64_t operand_bytes() const { return products_->operand_bytes(); }
  [[nodiscard]] std::uint64_t reply_bytes() const { return products_->reply_bytes(); }
  /// No result is further off, but for a chance of 2^-49 for each: the fit, 8 standard deviations, rounding.
  [[nodiscard]] double error(std::size_t part) const;
  /// Throws InvalidArgument unless `z` is a share of what the plan is for.
  void check(const ShareMatrix& z) const;

 private:
  std::shared_ptr<const he::Slots> slots_;
  SmoothFunction function_;
  SmoothSpec spec_;
  std::shared_ptr<const he::SlotPlan> products_;
};

/// The party that encrypts. For one evaluation.
class SmoothOwner {
 public:
  /// Writes `plan.operand_bytes()` bytes. `coin` as in `he::Slots::encrypt`: of both parties, fresh.
  /// Reveals: nothing. Throws InvalidArgument if `z` is not what the plan is for.
  SmoothOwner(std::shared_ptr<const SmoothPlan> plan, const he::Coin& coin, ShareMatrix z, Random& random,
              ThreadPool& pool, ByteSink& operand);

  /// This party's shares, one matrix for each function, in the ring of 2^128.
  /// Throws ProtocolError if the bytes are not a reply, InvalidArgument if it was called before.
  [[nodiscard]] std::vector<ShareMatrix> open(ByteSource& reply, ThreadPool& pool);

 private:
  std::shared_ptr<const SmoothPlan> plan_;
  ShareMatrix z_;
  std::unique_ptr<he::SlotKey> key_;
};

/// The other party: reads an operand, writes `plan.reply_bytes()` bytes, and returns its shares.
/// Reveals: nothing. Throws ProtocolError if the bytes are not an operand, InvalidArgument if `z` is not what the plan
/// is for.
[[nodiscard]] std::vector<ShareMatrix> multiply_smooth(const SmoothPlan& plan, const he::Coin& coin,
                                                       ByteSource& operand, const ShareMatrix& z, Random& random,
                                                       ThreadPool& pool, ByteSink& reply);

/// What waves see of a share.
[[nodiscard]] SecretVector<std::uint32_t> angles_of(const ShareMatrix& z);

/// Which party adds the constants, so that one does.
enum class Constants { kAdded, kLeft };

/// `waves`, a row of values of one function's waves, in the shape of `z`, with c1 z and, once, c0.
[[nodiscard]] ShareMatrix with_line(const SmoothFunction::Part& part, const ShareMatrix& waves, const ShareMatrix& z,
                                    Constants constants);

}  // namespace blindfl::mpc
