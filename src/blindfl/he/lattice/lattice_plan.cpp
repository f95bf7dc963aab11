#include "blindfl/he/lattice/lattice_plan.h"

#include <cmath>

namespace blindfl::he::lattice {

namespace {

// Seconds on one core with IFMA at the shipped parameters, from bench_plan; docs/appendix/planner.md has how far
// they carry.
constexpr double kEncryptTile = 150e-6;
constexpr double kLoadTile = 80e-6;
constexpr double kReplyTile = 330e-6;
constexpr double kReplyResult = 0.08e-6;
constexpr double kTileProduct = 14e-6;
constexpr double kRun = 125e-6;       // tiles between empty ones: memory is read in small pieces
constexpr double kLeftValue = 18e-9;  // of the private matrix' tiles: cut, lifted and transformed
constexpr double kColumn = 1e-9;      // for each group of replies
constexpr double kOpenTile = 100e-6;
constexpr double kOpenResult = 0.035e-6;

}  // namespace

ProductTimes LatticePlan::times(double nonzeros) const {
  const Tiling& t = tiling_;
  const auto operands = static_cast<double>(t.inner_tiles * t.col_tiles);
  const auto replies = static_cast<double>(t.row_tiles * t.col_tiles);
  const double results = static_cast<double>(spec().rows) * static_cast<double>(spec().cols);
  // A tile of X is skipped only if all of it is 0; those left stand alone the more, the fewer they are.
  const auto left_tiles = static_cast<double>(t.row_tiles * t.inner_tiles);
  const double all = static_cast<double>(spec().rows) * static_cast<double>(spec().inner);
  const double limbs = nonzeros * static_cast<double>(t.limbs);
  const double filled = nonzeros >= all ? 1.0 : -std::expm1(-limbs / left_tiles);
  const double tile = static_cast<double>(t.col_tiles) * (kTileProduct + (1.0 - filled) * kRun) +
                      static_cast<double>(degree_) / static_cast<double>(t.cols) * kLeftValue;
  const double groups = std::ceil(static_cast<double>(t.row_tiles) / static_cast<double>(kRowGroup));
  return {.encrypt = operands * kEncryptTile,
          .load = operands * kLoadTile,
          .multiply = replies * kReplyTile + results * kReplyResult + left_tiles * filled * tile +
                      groups * static_cast<double>(spec().inner * t.limbs) * kColumn,
          .open = replies * kOpenTile + results * kOpenResult};
}

std::uint64_t LatticePlan::operand_memory() const {
  return static_cast<std::uint64_t>(tiling_.inner_tiles) * tiling_.col_tiles * 2 * moduli_ * degree_ *
         sizeof(std::uint64_t);
}

}  // namespace blindfl::he::lattice
