#pragma once

#include <cmath>

#include "blindfl/he/paillier/masked_reply.h"
#include "blindfl/he/plan.h"

namespace blindfl::he::paillier {

/// How Paillier carries out one product: the columns of M side by side in slots, a ciphertext for each row of M and
/// group of columns.
class PaillierPlan final : public Plan {
 public:
  /// Masks are this much longer than what they hide, at least: more where a run opens more than 2^24 values.
  static constexpr int kLeastHiding = 64;
  /// Messages begin with the id of the key that they are encrypted under: ciphertexts do not tell.
  static constexpr std::size_t kIdBytes = 16;

  /// Throws InvalidArgument if a value of the product does not fit in a plaintext with its mask.
  PaillierPlan(const Params& params, const ProductSpec& spec);

  [[nodiscard]] std::uint64_t operand_bytes() const override;
  [[nodiscard]] std::uint64_t reply_bytes() const override;
  [[nodiscard]] std::string operand_layout() const override { return layout_; }
  [[nodiscard]] ProductTimes times(double nonzeros) const override;
  [[nodiscard]] std::uint64_t operand_memory() const override;

  [[nodiscard]] Exposure exposure_of_value() const override {
    return {std::ldexp(1.0, reply_.value_bits - reply_.mask_bits), 0, spec().lift_failure()};
  }

  [[nodiscard]] const CryptoShape& operand() const { return operand_; }
  [[nodiscard]] const ReplyLayout& reply() const { return reply_; }

 private:
  Params params_;
  ReplyLayout reply_;
  CryptoShape operand_;
  std::string layout_;
};

}  // namespace blindfl::he::paillier
