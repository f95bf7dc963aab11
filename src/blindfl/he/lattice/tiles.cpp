#include "blindfl/he/lattice/tiles.h"

#include <algorithm>
#include <bit>
#include <sstream>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/base/int128.h"

namespace blindfl::he::lattice {

namespace {

constexpr std::size_t ceil_divide(std::size_t a, std::size_t b) {
  return (a + b - 1) / b;
}

/// What a polynomial costs on one core with vector units, in nanoseconds; measured roughly, the same everywhere by
/// decree.
constexpr std::uint64_t kOperandCost = 75'000;
constexpr std::uint64_t kReplyCost = 230'000;
constexpr std::uint64_t kProductCost = 12'000;
constexpr std::uint64_t kLeftCostPerValue = 8;

std::uint64_t link_cost(std::uint64_t bytes) {
  return bytes * 4 / 5;
}  // 0.8 ns a byte: 10 Gbit/s

std::uint64_t operand_bits(const Params& params) {
  std::uint64_t bits = 0;
  for (const Modulus& m : params.moduli()) bits += static_cast<std::uint64_t>(m.bits());
  return bits;
}

std::uint64_t reply_bits(const Params& params) {
  std::uint64_t bits = 0;
  for (std::size_t l = 0; l < params.kept(); ++l) bits += static_cast<std::uint64_t>(params.moduli()[l].bits());
  return bits;
}

std::uint64_t cost_of(const Params& params, const Tiling& t) {
  const std::uint64_t n = params.degree();
  const std::uint64_t operands = t.inner_tiles * t.col_tiles;
  const std::uint64_t replies = t.row_tiles * t.col_tiles;
  return operands * (kOperandCost + link_cost(operand_bits(params) * n / 8)) +
         replies * (kReplyCost + link_cost(reply_bits(params) * n / 8 + 17 * t.rows * t.cols)) +
         replies * t.inner_tiles * kProductCost + t.row_tiles * t.inner_tiles * (n / t.cols) * kLeftCostPerValue;
}

/// Bits of the noise: every coefficient of the left tiles of a row, as large as it can be, against an error and a
/// rounding of the right ones; plus a fresh encryption of zero. Derivation: docs/protocols.md.
int noise_bits(const Params& params, std::size_t left_values, std::uint64_t left_bound) {
  const UInt128 products = static_cast<UInt128>(left_values) * left_bound;
  const UInt128 fresh = static_cast<UInt128>(2) * params.degree() * Params::kErrorBound;
  return bit_length(products * (Params::kErrorBound + 1) + fresh);
}

struct Candidate {
  Tiling tiling;
  std::uint64_t cost = 0;
  int hiding = 0;  ///< bits by which flooding exceeds the noise
};

/// Fills in tile counts, and limbs in every number that leaves room for the noise.
void finish(const Params& params, const ProductSpec& spec, const Tiling& t, std::vector<Candidate>& all) {
  const std::uint64_t smallest_prime = params.moduli().back().value();
  const int width = bit_length(spec.left_bound) + 1;  // a balanced digit and its sign
  for (std::size_t limbs = 1; limbs <= 8; ++limbs) {
    const int limb_bits = (width + static_cast<int>(limbs) - 1) / static_cast<int>(limbs);
    const std::uint64_t digit_bound = limbs == 1 ? spec.left_bound : (std::uint64_t{1} << (limb_bits - 1)) + 1;
    const std::size_t inner = spec.inner * limbs;
    Tiling candidate = t;
    candidate.inner = std::min(t.inner, inner);
    candidate.inner_tiles = ceil_divide(inner, candidate.inner);
    candidate.inner = ceil_divide(inner, candidate.inner_tiles);
    candidate.row_tiles = ceil_divide(spec.rows, t.rows);
    candidate.rows = ceil_divide(spec.rows, candidate.row_tiles);
    candidate.col_tiles = ceil_divide(spec.cols, t.cols);
    candidate.limbs = limbs;
    candidate.limb_bits = limb_bits;
    candidate.noise_bits = noise_bits(params, candidate.rows * candidate.inner * candidate.inner_tiles, digit_bound);
    const int hiding = flooding_bits(params) - candidate.noise_bits;
    if (digit_bound >= smallest_prime || hiding < kFloodingMargin) continue;
    all.push_back({candidate, cost_of(params, candidate), hiding});
    if (hiding >= spec.wanted_hiding()) return;  // more limbs only cost more
  }
}

std::vector<Candidate> candidates(const Params& params, const ProductSpec& spec) {
  std::vector<Candidate> all;
  for (const std::size_t cols : {1, 8, 16, 32, 64}) {
    if (cols > params.degree() / 64 || (cols > 1 && cols / 2 >= spec.cols && cols > 8)) continue;
    const std::size_t room = params.degree() / cols;
    for (std::size_t rows = 1; rows <= std::min(spec.rows, room);) {
      Tiling t;
      t.cols = cols;
      t.rows = rows;
      t.inner = room / rows;
      finish(params, spec, t, all);
      // The next number of rows that makes fewer row tiles: others only waste room.
      const std::size_t tiles = ceil_divide(spec.rows, rows);
      rows = tiles == 1 ? spec.rows + 1 : std::max(rows + 1, ceil_divide(spec.rows, tiles - 1));
    }
  }
  return all;
}

/// The cheapest, the first if several cost the same, that hides by `hiding` bits; null if there is none.
const Candidate* cheapest(const std::vector<Candidate>& all, int hiding) {
  const Candidate* best = nullptr;
  for (const Candidate& c : all) {
    if (c.hiding >= hiding && (best == nullptr || c.cost < best->cost)) best = &c;
  }
  return best;
}

}  // namespace

std::string Tiling::operand_layout() const {
  std::ostringstream text;
  text << "lattice tiles " << inner << " x " << cols << ", " << inner_tiles << " by " << col_tiles << ", " << limbs
       << " limbs of " << limb_bits << " bits";
  return text.str();
}

int flooding_bits(const Params& params) {
  return params.log_q() - 1 - Params::kFloodExponent;
}

Tiling choose_tiling(const Params& params, const ProductSpec& spec) {
  const std::vector<Candidate> all = candidates(params, spec);
  const Candidate* least = cheapest(all, kFloodingMargin);
  require<InvalidArgument>(least != nullptr, "product of ", spec.describe(),
                           ": the lattice scheme has no room for its noise; lower the left bound");
  const Candidate* wanted = cheapest(all, spec.wanted_hiding());
  // Runs with so few values that there is room at all are short: they can afford it.
  if (wanted != nullptr && wanted->cost <= 4 * least->cost) return wanted->tiling;
  for (const Candidate& c : all) {
    if (c.hiding > least->hiding && c.cost == least->cost) least = &c;
  }
  return least->tiling;
}

}  // namespace blindfl::he::lattice
