#pragma once

#include <cstdint>
#include <vector>

#include "blindfl/base/aligned.h"
#include "blindfl/base/thread_pool.h"
#include "blindfl/he/lattice/kernels.h"
#include "blindfl/he/lattice/tiles.h"
#include "blindfl/tensor/int_matrix.h"

namespace blindfl::he::lattice {

/// Positions that one step of the inner products works on: what they touch stays in the fastest cache.
constexpr std::size_t kBlock = 64;

/// The private matrix, cut into tiles and transformed. A tile is a polynomial in x^cols, so its transform has only
/// degree / cols different values, each standing for `cols` positions in a row.
class LeftOperand {
 public:
  LeftOperand(const Params& params, const Kernels& kernels, const Tiling& tiling, const IntMatrix& x, ThreadPool& pool);

  /// A run of tiles that have entries: tiles without any cost nothing.
  struct Run {
    std::size_t begin;
    std::size_t end;
  };
  [[nodiscard]] const std::vector<Run>& runs(std::size_t row_tile) const { return runs_[row_tile]; }

  /// Values of (modulus, block of 64 positions, row tile): tile after tile, `stride()` values each, in Montgomery form.
  [[nodiscard]] const std::uint64_t* values(std::size_t modulus, std::size_t block, std::size_t row_tile) const;
  [[nodiscard]] std::size_t stride() const { return stride_; }

 private:
  void transform_tile(const Params& params, const Kernels& kernels, const Tiling& tiling, std::size_t row_tile,
                      std::size_t inner_tile, const std::vector<std::int64_t>& entries);

  std::size_t row_tiles_;
  std::size_t inner_tiles_;
  std::size_t blocks_;
  std::size_t stride_;
  std::vector<std::vector<Run>> runs_;
  AlignedSecret<std::uint64_t> values_;
};

}  // namespace blindfl::he::lattice
