#pragma once

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/keys.h"
#include "blindfl/he/lattice/packing.h"
#include "blindfl/he/lattice/tiles.h"
#include "blindfl/he/plan.h"

// Formats, little-endian:
//   operand: key id (16), seed (32), then tile after tile (inner tiles of the first column tile first), for each
//   modulus the
//            transformed first component, packed; the second component is expanded from the seed
//   reply:   key id (16), then tile after tile (row tiles of the first column tile first): for each kept modulus the
//   second
//            component, packed; then, row by row, 17 bytes for each result: the first component as a fraction of the
//            modulus

namespace blindfl::he::lattice {

class LatticePlan final : public Plan {
 public:
  static constexpr std::size_t kResultBytes = Params::kReplyBits / 8;

  LatticePlan(const Params& params, const ProductSpec& spec) : Plan(spec), tiling_(choose_tiling(params, spec)) {
    for (const Modulus& m : params.moduli()) operand_tile_ += packed_bytes(params.degree(), m.bits());
    for (std::size_t l = 0; l < params.kept(); ++l) {
      reply_tile_ += packed_bytes(params.degree(), params.moduli()[l].bits());
    }
  }

  /// `plan` as one of this scheme's. Throws InvalidArgument if it is another's.
  [[nodiscard]] static const LatticePlan& of(const Plan& plan) {
    const auto* own = dynamic_cast<const LatticePlan*>(&plan);
    require<InvalidArgument>(own != nullptr, "a plan of another scheme");
    return *own;
  }

  [[nodiscard]] const Tiling& tiling() const { return tiling_; }
  /// Bytes of one packed tile of an operand, and of the second component of one tile of a reply.
  [[nodiscard]] std::uint64_t operand_tile_bytes() const { return operand_tile_; }
  [[nodiscard]] std::uint64_t reply_tile_bytes() const { return reply_tile_; }
  [[nodiscard]] std::uint64_t operand_bytes() const override {
    return sizeof(KeyId) + sizeof(Seed) + operand_tile_ * tiling_.inner_tiles * tiling_.col_tiles;
  }
  [[nodiscard]] std::uint64_t reply_bytes() const override {
    return sizeof(KeyId) + reply_tile_ * tiling_.row_tiles * tiling_.col_tiles +
           kResultBytes * spec().rows * spec().cols;
  }
  [[nodiscard]] std::string operand_layout() const override { return tiling_.operand_layout(); }

 private:
  Tiling tiling_;
  std::uint64_t operand_tile_ = 0;
  std::uint64_t reply_tile_ = 0;
};

}  // namespace blindfl::he::lattice
