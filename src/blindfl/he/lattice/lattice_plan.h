#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "blindfl/base/thread_pool.h"
#include "blindfl/he/lattice/keys.h"
#include "blindfl/he/lattice/noise.h"
#include "blindfl/he/lattice/tiles.h"
#include "blindfl/he/plan.h"

// Formats, little-endian:
//
//   operand: key id (16), seed (32), then tile after tile (inner tiles of the first column tile first): for each
//            modulus the transformed first component, packed. The second component is uniform: the seed's stream gives,
//            in the order of tiles and moduli, 32 bytes for each, which are the seed of its residues.
//   reply:   key id (16), then tile after tile the second component, as digits of mixed radix, packed: of the lowest
//            digit the plan's lowest `cut` bits are cut off, or all, and of the next the rest of them. Row tiles come
//            in groups of kRowGroup; in a group all row tiles of the first column tile come first.

namespace blindfl::he::lattice {

/// Tiles that a party works on together: enough for every thread, and no more than the caches hold.
[[nodiscard]] inline std::size_t tiles_at_once(const ThreadPool& pool) {
  return pool.size() == 1 ? 1 : 2 * pool.size();
}

class LatticePlan final : public Plan {
 public:
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

  LatticePlan(std::shared_ptr<const Params> params, const ProductSpec& spec, const Tiling& tiling,
              const NoiseBudget& budget);

  /// The cheapest plan that hides a whole run, of all sets and tilings.
  /// Throws InvalidArgument, saying what to change, if there is none.
  [[nodiscard]] static std::shared_ptr<const LatticePlan> choose(const std::vector<std::shared_ptr<const Params>>& sets,
                                                                 const ProductSpec& spec);

  /// `plan` as one of this scheme's, for keys of these parameters. Throws InvalidArgument if it is another's.
  [[nodiscard]] static const LatticePlan& of(const Plan& plan, const Params& params);

  [[nodiscard]] const Params& params() const { return *params_; }
  [[nodiscard]] const Tiling& tiling() const { return tiling_; }
  [[nodiscard]] const NoiseBudget& budget() const { return budget_; }
  /// Bits that are cut off a digit of a reply: of the lowest, or all of that and some of the next.
  [[nodiscard]] int cut_of(std::size_t modulus) const {
    const int lowest = params_->moduli().front().bits();
    if (modulus == 0) return std::min(budget_.cut, lowest);
    return modulus == 1 ? std::max(budget_.cut - lowest, 0) : 0;
  }
  /// And those that are left on the wire.
  [[nodiscard]] int reply_bits(std::size_t modulus) const {
    return params_->moduli()[modulus].bits() - cut_of(modulus);
  }
  /// Bytes of one packed tile of an operand, and of a reply.
  [[nodiscard]] std::uint64_t operand_tile_bytes() const { return operand_tile_; }
  [[nodiscard]] std::uint64_t reply_tile_bytes() const { return reply_tile_; }
  [[nodiscard]] std::uint64_t operand_bytes() const override {
    return sizeof(KeyId) + sizeof(Seed) + operand_tile_ * tiling_.inner_tiles * tiling_.col_tiles;
  }
  [[nodiscard]] std::uint64_t reply_bytes() const override {
    return sizeof(KeyId) + reply_tile_ * tiling_.row_tiles * tiling_.col_tiles;
  }
  /// Where a modulus' words begin in a tile of an operand, and of a reply.
  [[nodiscard]] std::size_t operand_offset(std::size_t modulus) const { return operand_offsets_[modulus]; }
  [[nodiscard]] std::size_t reply_offset(std::size_t modulus) const { return reply_offsets_[modulus]; }
  [[nodiscard]] Area area(std::size_t row_tile, std::size_t col_tile) const {
    const std::size_t row = row_tile * tiling_.rows;
    const std::size_t col = col_tile * tiling_.cols;
    return {row, std::min(tiling_.rows, spec().rows - row), col, std::min(tiling_.cols, spec().cols - col)};
  }
  /// The results' areas in the order of the reply.
  [[nodiscard]] std::vector<Area> reply_order() const;
  [[nodiscard]] std::string operand_layout() const override { return layout_; }
  [[nodiscard]] std::string key_set() const override { return params_->name(); }
  [[nodiscard]] ProductTimes times(double nonzeros) const override;
  [[nodiscard]] std::uint64_t operand_memory() const override;
  [[nodiscard]] Exposure exposure_of_value() const override;
  [[nodiscard]] double largest_error() const override;

 private:
  std::shared_ptr<const Params> params_;
  Tiling tiling_;
  NoiseBudget budget_;
  std::string layout_;
  std::vector<std::size_t> operand_offsets_;
  std::vector<std::size_t> reply_offsets_;
  std::uint64_t operand_tile_ = 0;
  std::uint64_t reply_tile_ = 0;
};

}  // namespace blindfl::he::lattice
