#include "blindfl/he/lattice/left_operand.h"

#include <algorithm>

#include "blindfl/he/lattice/short_transform.h"

namespace blindfl::he::lattice {

namespace {

/// Entries of one row of tiles, by tile: coefficients of the polynomials in x^cols.
using TileEntries = std::vector<std::vector<std::int64_t>>;

/// Cuts a value into balanced digits of `bits` bits: each in [-2^(bits-1), 2^(bits-1)].
template <class F>
void for_each_limb(std::int64_t value, const Tiling& t, F&& f) {
  if (t.limbs == 1) {
    f(std::size_t{0}, value);
    return;
  }
  const std::int64_t half = std::int64_t{1} << (t.limb_bits - 1);
  for (std::size_t limb = 0; limb + 1 < t.limbs; ++limb) {
    const std::int64_t carry = (value + half) >> t.limb_bits;
    f(limb, value - carry * (std::int64_t{1} << t.limb_bits));
    value = carry;
  }
  f(t.limbs - 1, value);
}

TileEntries cut_row_of_tiles(const Params& params, const Tiling& t, const IntMatrix& x, std::size_t row_tile) {
  TileEntries tiles(t.inner_tiles);
  const std::size_t begin = row_tile * t.rows;
  const std::size_t end = std::min(x.rows(), begin + t.rows);
  for (std::size_t r = begin; r < end; ++r) {
    x.for_each_in_row(r, [&](std::size_t c, std::int64_t value) {
      if (value == 0) return;
      for_each_limb(value, t, [&](std::size_t limb, std::int64_t digit) {
        const std::size_t j = c * t.limbs + limb;
        auto& tile = tiles[j / t.inner];
        if (tile.empty()) tile.resize(params.degree() / t.cols);
        tile[(r - begin) * t.inner + t.inner - 1 - j % t.inner] = digit;
      });
    });
  }
  return tiles;
}

}  // namespace

LeftOperand::LeftOperand(const Params& params, const Kernels& kernels, const Tiling& tiling, const IntMatrix& x,
                         ThreadPool& pool)
    : row_tiles_(tiling.row_tiles),
      inner_tiles_(tiling.inner_tiles),
      blocks_(params.degree() / kBlock),
      stride_(kBlock / tiling.cols),
      runs_(tiling.row_tiles),
      values_(params.moduli().size() * blocks_ * row_tiles_ * inner_tiles_ * stride_) {
  pool.parallel_for(row_tiles_, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row_tile = begin; row_tile < end; ++row_tile) {
      const TileEntries tiles = cut_row_of_tiles(params, tiling, x, row_tile);
      for (std::size_t t = 0; t < tiles.size(); ++t) {
        if (tiles[t].empty()) continue;
        auto& runs = runs_[row_tile];
        if (!runs.empty() && runs.back().end == t) {
          ++runs.back().end;
        } else {
          runs.push_back({t, t + 1});
        }
        transform_tile(params, kernels, tiling, row_tile, t, tiles[t]);
      }
    }
  });
}

void LeftOperand::transform_tile(const Params& params, const Kernels& kernels, const Tiling& tiling,
                                 std::size_t row_tile, std::size_t inner_tile,
                                 const std::vector<std::int64_t>& entries) {
  std::vector<std::uint64_t> a(entries.size());
  for (std::size_t l = 0; l < params.moduli().size(); ++l) {
    const Modulus& m = params.moduli()[l];
    const std::uint64_t r = m.to_montgomery(1);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = entries[i] == 0 ? 0 : m.multiply(m.from_signed(entries[i]), r);
    if (tiling.cols == 1) {
      kernels.forward(a.data(), m);
    } else {
      transform_short(a, m);
    }
    for (std::size_t block = 0; block < blocks_; ++block) {
      auto* to =
          values_.data() + (((l * blocks_ + block) * row_tiles_ + row_tile) * inner_tiles_ + inner_tile) * stride_;
      std::copy_n(a.begin() + static_cast<std::ptrdiff_t>(block * stride_), stride_, to);
    }
  }
}

const std::uint64_t* LeftOperand::values(std::size_t modulus, std::size_t block, std::size_t row_tile) const {
  return values_.data() + ((modulus * blocks_ + block) * row_tiles_ + row_tile) * inner_tiles_ * stride_;
}

}  // namespace blindfl::he::lattice
