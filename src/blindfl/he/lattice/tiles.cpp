#include "blindfl/he/lattice/tiles.h"

#include <algorithm>
#include <bit>
#include <sstream>

namespace blindfl::he::lattice {

namespace {

constexpr std::size_t ceil_divide(std::size_t a, std::size_t b) {
  return (a + b - 1) / b;
}

// Left tiles show in groups of that many positions, or are of no use in them: Tiling::repeats.
constexpr std::size_t kGroup = 8;

/// Widths of tiles for so many columns.
std::vector<std::size_t> widths_of(std::size_t degree, std::size_t cols) {
  const std::size_t widest = degree / 16;
  // A few columns are better off without empty ones beside them.
  std::vector<std::size_t> widths{1};
  if (cols > 1 && cols < kGroup) widths.push_back(cols);
  for (const std::size_t width : {8, 16, 32, 64, 128, 256}) {
    if (width <= widest && (width == kGroup || width / 2 < cols)) widths.push_back(width);
  }
  // And many: a few tiles of the same width, as nearly as groups allow.
  for (std::size_t tiles = 1; tiles <= 4; ++tiles) {
    const std::size_t width = ceil_divide(ceil_divide(cols, tiles), kGroup) * kGroup;
    const bool known = std::ranges::find(widths, width) != widths.end();
    if (width <= widest && !known) widths.push_back(width);
  }
  return widths;
}

/// Tile counts, and tiles no larger than these need.
Tiling finished(std::size_t degree, const ProductSpec& spec, Tiling t) {
  t.inner = std::min(t.inner, spec.inner);
  t.inner_tiles = ceil_divide(spec.inner, t.inner);
  t.inner = ceil_divide(spec.inner, t.inner_tiles);
  t.row_tiles = ceil_divide(spec.rows, t.rows);
  t.rows = ceil_divide(spec.rows, t.row_tiles);
  t.col_tiles = ceil_divide(spec.cols, t.cols);
  // A power of two, where there is room for one, makes results cheap to transform back.
  if (t.cols == 1 && std::bit_ceil(t.inner) * t.rows <= degree) {
    t.inner = std::bit_ceil(t.inner);
    t.inner_tiles = ceil_divide(spec.inner, t.inner);
  }
  return t;
}

}  // namespace

std::size_t Tiling::repeats() const {
  const std::size_t power = cols & (~cols + 1);
  return power < kGroup ? 1 : power;
}

bool Tiling::sparse_results(std::size_t degree) const {
  return cols == 1 && std::has_single_bit(inner) && inner >= 8 && inner <= degree / 8;
}

std::string Tiling::operand_layout() const {
  std::ostringstream text;
  text << "tiles " << inner << " x " << cols << ", " << inner_tiles << " by " << col_tiles;
  return text.str();
}

std::vector<Tiling> tilings(std::size_t degree, const ProductSpec& spec) {
  std::vector<Tiling> all;
  for (const std::size_t cols : widths_of(degree, spec.cols)) {
    const std::size_t room = degree / cols;
    for (std::size_t rows = 1; rows <= std::min(spec.rows, room);) {
      Tiling t;
      t.cols = cols;
      t.rows = rows;
      t.inner = room / rows;
      all.push_back(finished(degree, spec, t));
      // The next number of rows that makes fewer row tiles: others only waste room.
      const std::size_t tiles = ceil_divide(spec.rows, rows);
      rows = tiles == 1 ? spec.rows + 1 : std::max(rows + 1, ceil_divide(spec.rows, tiles - 1));
    }
  }
  return all;
}

}  // namespace blindfl::he::lattice
