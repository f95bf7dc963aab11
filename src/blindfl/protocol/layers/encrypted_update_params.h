#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "blindfl/he/updates.h"
#include "blindfl/net/step.h"
#include "blindfl/protocol/layers/matmul_params.h"
#include "blindfl/protocol/layers/momentum_sums.h"
#include "blindfl/protocol/layers/steps.h"

namespace blindfl::protocol {

/// What updates under encryption must know of the weights V that they are for, and of the X that V is multiplied with.
struct EncryptedUpdateSpec {
  std::string name;  ///< of the layer, for error messages
  std::size_t in = 0;
  std::size_t out = 0;
  std::size_t batch = 0;
  FixedPoint features{FixedPointSpec{}};
  std::size_t most_terms = 0;  ///< entries of a row of X that are not 0, at most
  int product_scale = 0;       ///< that shares of X V are wanted at
  /// Of the derivative of the summed loss by a value of X V.
  double largest_derivative = 0;
  /// Where the derivative itself is shared: bits of a share, at scale `share_scale`. 0: one party has it whole.
  int share_bits = 0;
  int share_scale = 0;
  SgdOptions sgd{};
  std::uint64_t passes = 0;  ///< forward passes of the run, each of which opens a batch's values
  std::size_t products = 1;  ///< of the layer, which share what the run may give away
  RunLength run{};
  net::Step product_step = steps::kForwardProduct;
  net::Step derivative_step = steps::kDerivativeOperand;
};

/// For the weights of a party's features in a MatMul layer: A's, or under a shared top B's too.
[[nodiscard]] EncryptedUpdateSpec encrypted_update_of(const MatMulParams& layer, Party features_of = Party::kA);

/// Updates under encryption that cannot overflow: every scale, bound and slot, the same at both parties.
class EncryptedUpdateParams {
 public:
  /// Throws InvalidArgument, with the layer in the message, if the number of steps is not declared, if the plan has
  /// weight decay, or if a sum over all steps does not fit in a plaintext with its mask.
  EncryptedUpdateParams(const EncryptedUpdateSpec& spec, std::shared_ptr<const he::Updates> updates);
  EncryptedUpdateParams(const MatMulParams& layer, std::shared_ptr<const he::Updates> updates,
                        Party features_of = Party::kA)
      : EncryptedUpdateParams(encrypted_update_of(layer, features_of), std::move(updates)) {}

  [[nodiscard]] const EncryptedUpdateSpec& spec() const { return spec_; }

  [[nodiscard]] const SgdPlan& plan() const { return plan_; }
  [[nodiscard]] const MomentumSums& sums() const { return sums_; }
  [[nodiscard]] std::size_t batch() const { return spec_.batch; }
  [[nodiscard]] std::size_t out() const { return spec_.out; }
  [[nodiscard]] std::size_t most_terms() const { return spec_.most_terms; }
  [[nodiscard]] int product_scale() const { return spec_.product_scale; }

  /// Scales of what B encrypts of a derivative: for the sum, and for a window's sum.
  [[nodiscard]] int derivative_scale() const { return derivative_scale_; }
  [[nodiscard]] int history_scale() const { return history_scale_; }
  /// Sums of products that a forward pass opens: one, with momentum three.
  [[nodiscard]] std::size_t parts() const { return sums_.has_momentum() ? 3 : 1; }
  /// Encrypted copies of a derivative: one, with momentum two.
  [[nodiscard]] std::size_t copies() const { return sums_.has_momentum() ? 2 : 1; }

  [[nodiscard]] const he::Updates& updates() const { return *updates_; }
  [[nodiscard]] he::EncryptedShape derivative(std::size_t rows, bool history) const;
  [[nodiscard]] he::EncryptedShape weights(bool history) const;
  [[nodiscard]] he::UpdateReply reply(std::size_t rows) const;
  /// What a forward pass after `steps` steps makes of the products that it opens: `X V`.
  [[nodiscard]] he::PublicSum product(std::size_t steps) const;

  /// Of everything that saved state depends on.
  [[nodiscard]] Bytes digest(const std::string& key_id) const;

  /// By how much masks exceed what they hide, and what all values of one reply give away: as of a plan.
  [[nodiscard]] int hiding_bits() const { return hiding_; }
  [[nodiscard]] he::Exposure exposure_of_reply() const;
  /// Backward passes that the sums have room for.
  [[nodiscard]] std::size_t most_passes() const { return plan_.options().steps * plan_.options().passes_per_step; }

  [[nodiscard]] std::uint64_t derivative_bytes(std::size_t rows) const;
  [[nodiscard]] std::uint64_t reply_bytes(std::size_t rows) const { return updates_->reply_bytes(reply(rows)); }

 private:
  [[nodiscard]] int lifted_share_bits() const;

  EncryptedUpdateSpec spec_;
  std::shared_ptr<const he::Updates> updates_;
  SgdPlan plan_;
  MomentumSums sums_;
  int derivative_scale_;
  int history_scale_;
  int derivative_bits_;
  int weight_bits_;
  int result_bits_;
  int hiding_;
  int width_;  ///< of every value's room
};

}  // namespace blindfl::protocol
