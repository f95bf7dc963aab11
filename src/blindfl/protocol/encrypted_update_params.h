#pragma once

#include <cstddef>

#include "blindfl/he/paillier/masked_reply.h"
#include "blindfl/protocol/matmul_params.h"
#include "blindfl/protocol/momentum_sums.h"

namespace blindfl::protocol {

/// Updates under encryption that cannot overflow: every scale, bound and slot, the same at both parties.
class EncryptedUpdateParams {
 public:
  /// Throws InvalidArgument, with the layer in the message, if the number of steps is not declared, if the plan has
  /// weight decay, or if a sum over all steps does not fit in a plaintext with its mask.
  EncryptedUpdateParams(const MatMulParams& layer, const he::paillier::Params& params);

  [[nodiscard]] const SgdPlan& plan() const { return plan_; }
  [[nodiscard]] const MomentumSums& sums() const { return sums_; }
  [[nodiscard]] std::size_t batch() const { return batch_; }
  [[nodiscard]] std::size_t out() const { return out_; }
  [[nodiscard]] std::size_t most_terms() const { return most_terms_; }
  /// Scale of the layer's shares of Z.
  [[nodiscard]] int product_scale() const { return product_scale_; }
  /// Bits that the sum's part of a result is shifted down by, to `product_scale`; below 0: up.
  [[nodiscard]] int excess_scale() const { return derivative_scale_ + 2 * feature_scale_ - product_scale_; }

  /// Scales of what B encrypts of a derivative: for the sum, and for a window's sum.
  [[nodiscard]] int derivative_scale() const { return derivative_scale_; }
  [[nodiscard]] int history_scale() const { return history_scale_; }
  /// Sums of products that a forward pass opens: one, with momentum three.
  [[nodiscard]] std::size_t parts() const { return sums_.has_momentum() ? 3 : 1; }
  /// Encrypted copies of a derivative: one, with momentum two.
  [[nodiscard]] std::size_t copies() const { return sums_.has_momentum() ? 2 : 1; }

  [[nodiscard]] he::paillier::CryptoShape derivative(std::size_t rows, bool history) const;
  [[nodiscard]] he::paillier::CryptoShape weights(bool history) const;
  [[nodiscard]] he::paillier::ReplyLayout reply(std::size_t rows) const;

  /// Of everything that saved state depends on.
  [[nodiscard]] Bytes digest(const std::string& key_id) const;

  [[nodiscard]] std::uint64_t derivative_bytes(std::size_t rows) const;
  [[nodiscard]] std::uint64_t reply_bytes(std::size_t rows) const;

 private:
  he::paillier::Params params_;
  SgdPlan plan_;
  MomentumSums sums_;
  std::size_t in_;
  std::size_t out_;
  std::size_t batch_;
  std::size_t most_terms_;
  int product_scale_;
  int feature_scale_;
  int derivative_scale_;
  int history_scale_;
  int derivative_bits_;
  int weight_bits_;
  int result_bits_;
  int hiding_;
  he::paillier::Slots slots_;
};

}  // namespace blindfl::protocol
