#pragma once

#include <algorithm>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/base/thread_pool.h"
#include "blindfl/he/lattice/keys.h"
#include "blindfl/he/lattice/packing.h"
#include "blindfl/he/lattice/tiles.h"
#include "blindfl/he/plan.h"

// Formats, little-endian:
//
//   operand: key id (16), seed (32), then tile after tile (inner tiles of the first column tile first): for each
//   modulus
//            the transformed first component, packed. The second component is uniform: the seed's stream gives, in the
//            order of tiles and moduli, 32 bytes for each, which are the seed of its residues.
//   reply:   key id (16), then tile after tile: for each kept modulus the second component, packed; then, row by row,
//   17
//            bytes for each result: the first component as a fraction of the modulus. Row tiles come in groups of
//            kRowGroup; in a group all row tiles of the first column tile come first.

namespace blindfl::he::lattice {

/// Tiles that a party works on together: enough for every thread, and no more than the caches hold.
[[nodiscard]] inline std::size_t tiles_at_once(const ThreadPool& pool) {
  return pool.size() == 1 ? 1 : 2 * pool.size();
}

class LatticePlan final : public Plan {
 public:
  static constexpr std::size_t kResultBytes = Params::kReplyBits / 8;
  /// Replies that are made together: an encrypted matrix is read once for all of them.
  static constexpr std::size_t kRowGroup = 16;

  /// A piece of the result that is one tile.
  struct Area {
    std::size_t first_row;
    std::size_t rows;
    std::size_t first_col;
    std::size_t cols;
    [[nodiscard]] std::size_t size() const { return rows * cols; }
  };

  LatticePlan(const Params& params, const ProductSpec& spec)
      : Plan(spec),
        tiling_(choose_tiling(params, spec)),
        hiding_(flooding_bits(params) - tiling_.noise_bits),
        layout_(tiling_.operand_layout()),
        degree_(params.degree()),
        moduli_(params.moduli().size()) {
    for (const Modulus& m : params.moduli()) {
      word_offsets_.push_back(operand_tile_ / 8);
      operand_tile_ += packed_bytes(params.degree(), m.bits());
    }
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
  /// Where a modulus' words begin in either of them.
  [[nodiscard]] std::size_t word_offset(std::size_t modulus) const { return word_offsets_[modulus]; }
  [[nodiscard]] Area area(std::size_t row_tile, std::size_t col_tile) const {
    const std::size_t row = row_tile * tiling_.rows;
    const std::size_t col = col_tile * tiling_.cols;
    return {row, std::min(tiling_.rows, spec().rows - row), col, std::min(tiling_.cols, spec().cols - col)};
  }
  /// The results' areas in the order of the reply.
  [[nodiscard]] std::vector<Area> reply_order() const {
    std::vector<Area> order;
    for (std::size_t first = 0; first < tiling_.row_tiles; first += kRowGroup) {
      for (std::size_t col_tile = 0; col_tile < tiling_.col_tiles; ++col_tile) {
        for (std::size_t r = first; r < std::min(first + kRowGroup, tiling_.row_tiles); ++r) {
          order.push_back(area(r, col_tile));
        }
      }
    }
    return order;
  }
  [[nodiscard]] std::string operand_layout() const override { return layout_; }
  [[nodiscard]] ProductTimes times(double nonzeros) const override;
  [[nodiscard]] std::uint64_t operand_memory() const override;
  [[nodiscard]] int hiding_bits() const override { return hiding_; }

 private:
  Tiling tiling_;
  int hiding_;
  std::string layout_;
  std::size_t degree_;
  std::size_t moduli_;
  std::vector<std::size_t> word_offsets_;
  std::uint64_t operand_tile_ = 0;
  std::uint64_t reply_tile_ = 0;
};

}  // namespace blindfl::he::lattice
