#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "blindfl/he/lattice/polynomials.h"
#include "blindfl/he/lattice/slot_kernels.h"
#include "blindfl/he/lattice/slot_plan.h"

namespace blindfl::he::lattice {

/// What both parties do with complex slots.
class SlotCipher : public Polynomials {
 public:
  SlotCipher(std::shared_ptr<const Params> params, const Kernels& kernels);

  /// The phases of a chunk's frequencies, one after the other, `count` values each. Room for them: phase_room().
  [[nodiscard]] static std::size_t phase_room(const LatticeSlotPlan& plan, const SlotChunk& chunk) {
    return (plan.spec().frequencies.size() * chunk.count + 7) / 8 * 8;
  }
  struct Phases {
    std::span<double> re;
    std::span<double> im;
  };
  void phases(const LatticeSlotPlan& plan, const SlotChunk& chunk, std::span<const std::uint32_t> share,
              const Phases& out) const;

  /// The coefficients of a ciphertext's plaintext: `scale` times the phases of an operand, times C_j where there are
  /// any.
  void encode(const LatticeSlotPlan& plan, const SlotChunk& chunk, std::size_t operand, const Phases& phases,
              const ComplexNumber* factors, double scale, std::span<std::int64_t> out) const;

  /// A share of reply `index` of a chunk, given by its digits, as results.
  void collect(const LatticeSlotPlan& plan, const SlotChunk& chunk, std::size_t index, const std::uint64_t* digits,
               std::vector<ShareMatrix>& shares) const;

 private:
  const SlotKernels& slot_kernels_;
  SlotTables tables_;
  std::vector<RealPair> weights_;  ///< see DigitFraction
};

/// Zeros in the shape of a plan's results.
[[nodiscard]] std::vector<ShareMatrix> empty_results(const LatticeSlotPlan& plan);

}  // namespace blindfl::he::lattice
