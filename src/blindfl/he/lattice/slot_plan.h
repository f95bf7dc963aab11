#pragma once

#include <memory>
#include <string>
#include <vector>

#include "blindfl/he/lattice/keys.h"
#include "blindfl/he/lattice/params.h"
#include "blindfl/he/lattice/slot_layout.h"
#include "blindfl/he/slots.h"

// What results carry beside the value. With phases v at the owner, scaled by V and rounded, factors w = C e(a) at the
// multiplier, scaled by W and rounded, a reply's slot is
//
//   (W w + r_w) (V v + r_v + e) + u e_pk + e1 s + rho s,      divided by W V:
//
//   w (e + r_v) / V     errors of the owner's encryption and its rounding
//   r_w v / W           the multiplier's rounding
//   u e_pk + e1 s       errors of the public key and of the reply
//   rho s               what was cut off the reply
//
// Slots are values at roots of unity: an error with variance x in each coefficient has variance N x / 2 in the real
// part of each slot, and slots are uncorrelated. Coefficients of the owner's and the multiplier's shares are uniform
// and add up to those of the product modulo q. Read as fractions between -1/2 and 1/2 they add up without the modulus,
// but for a chance of |m_k| / q for coefficient k: together sum |m_k| / q <= sqrt(N) |m| / q, where by Parseval |m|^2
// is the mean of the squared slots. Scales are as large as 2^-kHidingOfRun for all replies of a run allows.
//
// Decisions are made with +, -, *, / and square roots alone, which IEEE 754 rounds the same everywhere: both parties
// must come to the same.

namespace blindfl::he::lattice {

class LatticeSlotPlan final : public SlotPlan {
 public:
  /// No coefficient of a scaled polynomial, with its error, has more bits.
  static constexpr int kCoefficientBits = 42;

  /// What may be chosen. Tests choose scales that wrap.
  struct Scales {
    double phases = 0;              ///< V, a power of two
    std::vector<double> factors{};  ///< W of each function; one where there are none
    int cut = 0;                    ///< bits off the lowest digit of a reply
  };

  LatticeSlotPlan(std::shared_ptr<const Params> params, const SlotSpec& spec, std::vector<SlotChunk> chunks,
                  Scales scales);

  /// The plan with the fewest bytes, of all sets, whose error is small enough.
  /// Throws InvalidArgument, with the smallest error that can be had, if there is none.
  [[nodiscard]] static std::shared_ptr<const LatticeSlotPlan> choose(
      const std::vector<std::shared_ptr<const Params>>& sets, const SlotSpec& spec);
  /// What a layout depends on, but for how much is cut off replies: about a fifth.
  [[nodiscard]] static SlotSizes sizes(const Params& params, std::size_t values, std::size_t frequencies,
                                       std::size_t functions);
  /// `plan` as one of this scheme's. Throws InvalidArgument if it is another's.
  [[nodiscard]] static const LatticeSlotPlan& of(const SlotPlan& plan);

  [[nodiscard]] const Params& params() const { return *params_; }
  [[nodiscard]] const std::shared_ptr<const Params>& shared_params() const { return params_; }
  [[nodiscard]] const std::vector<SlotChunk>& chunks() const { return chunks_; }
  [[nodiscard]] const Scales& scales() const { return scales_; }
  [[nodiscard]] std::size_t slots() const { return params_->degree() / 2; }
  /// Whether the products themselves are wanted, a reply for each operand.
  [[nodiscard]] bool separate() const { return spec().functions.empty(); }
  /// Replies of one chunk.
  [[nodiscard]] std::size_t replies(const SlotChunk& chunk) const {
    return separate() ? chunk.operands : spec().functions.size();
  }
  /// What a fraction of q is multiplied by to become a result.
  [[nodiscard]] double unit(std::size_t function) const;
  /// What a party's share of a result does not exceed, but for a chance below 2^-180 (Hoeffding's bound: coefficients
  /// are uniform in [-1/2, 1/2]).
  [[nodiscard]] double largest_share(std::size_t function) const;

  /// Bits of a digit of a reply on the wire.
  [[nodiscard]] int reply_bits(std::size_t modulus) const {
    return params_->moduli()[modulus].bits() - (modulus == 0 ? scales_.cut : 0);
  }
  /// Words of one ciphertext.
  [[nodiscard]] std::size_t operand_words() const { return operand_words_; }
  [[nodiscard]] std::size_t reply_words() const { return reply_words_; }

  [[nodiscard]] std::uint64_t operand_bytes() const override;
  [[nodiscard]] std::uint64_t reply_bytes() const override;
  [[nodiscard]] std::size_t operand_ciphertexts() const override { return slot_operands(chunks_); }
  [[nodiscard]] std::size_t reply_ciphertexts() const override {
    return slot_replies(chunks_, spec().functions.size());
  }
  [[nodiscard]] double deviation(std::size_t function) const override;
  [[nodiscard]] double largest_error(std::size_t function) const override;
  [[nodiscard]] ProductTimes times() const override;
  [[nodiscard]] double wraps_of_run() const override;
  [[nodiscard]] std::string describe() const override;
  /// The coin of a key for this plan: parties with other plans have other keys, and notice.
  [[nodiscard]] Coin bound(const Coin& coin) const;

 private:
  std::shared_ptr<const Params> params_;
  std::vector<SlotChunk> chunks_;
  Scales scales_;
  std::size_t operand_words_ = 0;
  std::size_t reply_words_ = 0;
  Bytes digest_;  // of describe()
};

}  // namespace blindfl::he::lattice
