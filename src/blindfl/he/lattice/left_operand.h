#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "blindfl/base/thread_pool.h"
#include "blindfl/he/lattice/kernels.h"
#include "blindfl/he/lattice/params.h"
#include "blindfl/he/lattice/scratch.h"
#include "blindfl/he/lattice/tiles.h"
#include "blindfl/tensor/int_matrix.h"

namespace blindfl::he::lattice {

/// Positions that one step of the inner products works on: what they touch stays in the fastest cache.
constexpr std::size_t kBlock = 64;

/// Some rows of tiles of the private matrix, transformed. A tile is a polynomial in x^cols, so its transform has only
/// degree / cols different values, each standing for `cols` positions in a row (from 8 on: `Tiling::repeats`). Tiles
/// without entries are left out: those that have some get slots, one after the other.
class LeftOperand {
 public:
  LeftOperand(const Params& params, const Kernels& kernels, const Tiling& tiling, const IntMatrix& x,
              std::size_t first_row_tile, std::size_t row_tiles, ThreadPool& pool, ScratchPool& scratch);

  /// Neighbouring tiles with entries, in neighbouring slots.
  struct Run {
    std::size_t first_tile;
    std::size_t first_slot;
    std::size_t count;
  };
  [[nodiscard]] const std::vector<Run>& runs(std::size_t row_tile) const { return runs_[row_tile]; }

  /// Values of (modulus, block of 64 positions, row tile): slot after slot, `stride()` values each.
  [[nodiscard]] const std::uint64_t* values(std::size_t modulus, std::size_t block, std::size_t row_tile) const {
    return values_.data() + offset(modulus, block / shared_, first_slot_[row_tile]);
  }
  [[nodiscard]] std::size_t stride() const { return stride_; }

 private:
  /// Where a column of X goes: its tile, and its place among the tile's columns.
  struct Place {
    std::uint32_t tile;
    std::uint32_t column;
  };
  [[nodiscard]] std::size_t offset(std::size_t modulus, std::size_t block, std::size_t slot) const {
    return ((modulus * blocks_ + block) * all_slots_ + slot) * stride_;
  }
  /// Runs f(row of the tile, column, value) for each entry of a row of tiles. Row tiles are counted from the first
  /// here.
  template <class F>
  void for_each_entry(const IntMatrix& x, std::size_t row_tile, F&& f) const;
  [[nodiscard]] std::size_t used_slots(std::size_t row_tile) const;
  void find_tiles(std::size_t row_tile, const IntMatrix& x);
  void cut(std::size_t row_tile, const IntMatrix& x, std::span<std::int64_t> entries) const;
  void transform(std::size_t row_tile, std::size_t modulus, std::span<const std::int64_t> entries,
                 ScratchPool& scratch);

  const Params& params_;
  const Kernels& kernels_;
  const Tiling& tiling_;
  std::size_t first_row_tile_;
  std::size_t together_;  ///< tiles that are transformed side by side
  std::size_t count_;     ///< of a tile's different values
  std::size_t apart_;     ///< coefficients from one entry to the next
  std::uint64_t bound_;   ///< of the matrix' values
  std::size_t shared_;    ///< blocks of positions that have the same values
  std::size_t blocks_;    ///< of values
  std::size_t stride_;
  std::vector<Place> places_;
  std::vector<std::vector<Run>> runs_;
  std::vector<std::vector<std::uint32_t>> slots_;  ///< of (row tile, tile); kNoSlot where there are no entries
  std::vector<std::size_t> first_slot_;            ///< of each row tile
  std::size_t all_slots_ = 0;
  std::optional<ScratchPool::Lease> lease_;
  std::span<std::uint64_t> values_;
};

}  // namespace blindfl::he::lattice
