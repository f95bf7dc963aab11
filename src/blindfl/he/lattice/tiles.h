#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "blindfl/he/lattice/params.h"
#include "blindfl/he/plan.h"

// How a matrix product is laid out in polynomials modulo x^N + 1.
//
// The right matrix is cut into tiles of `inner` rows and `cols` columns: element (j, c) is the coefficient of x^(c +
// cols j). The left one is cut into tiles of `rows` rows and `inner` columns: element (r, j) is the coefficient of
// x^(cols (r inner + inner - 1 - j)). In their product the coefficient of x^(c + cols (r inner + inner - 1)) is the sum
// over j that we want, if rows * inner * cols <= N; what wraps around lands below the first of these. The other
// coefficients are partial sums and never leave the multiplier.

namespace blindfl::he::lattice {

/// A product's layout. Both parties choose it from the same facts by the same integer arithmetic.
struct Tiling {
  std::size_t rows = 0;   ///< of the left matrix in one tile
  std::size_t inner = 0;  ///< columns of the left and rows of the right matrix in one tile
  std::size_t cols = 0;   ///< of the right matrix in one tile: 1, or a power of two from 8 to 64

  std::size_t row_tiles = 0;
  std::size_t inner_tiles = 0;
  std::size_t col_tiles = 0;

  /// A left value too wide for the noise is cut into limbs of this many bits; each limb is a column of its own against
  /// the row times 2^(limb_bits * limb).
  int limb_bits = 0;
  std::size_t limbs = 0;

  /// log2 of the largest noise of a product, in units of the ciphertext modulus' smallest step, rounded up.
  int noise_bits = 0;

  /// Where result (r, c) of a tile is in the product.
  [[nodiscard]] std::size_t result_position(std::size_t r, std::size_t c) const {
    return c + cols * (r * inner + inner - 1);
  }
  [[nodiscard]] std::string operand_layout() const;
};

/// The bits by which flooding must exceed the noise, at least.
constexpr int kFloodingMargin = 40;

/// log2 of the flooding, in the units of `Tiling::noise_bits`, rounded down.
[[nodiscard]] int flooding_bits(const Params& params);

/// The cheapest tiling for a product, by bytes over a link of 10 Gbit/s and by computing, of those that hide as much as
/// the spec's run wants. Hiding costs shorter limbs and smaller tiles: where it would cost more than four times as
/// much, or there is no room for it, the cheapest that hides the most.
/// Throws InvalidArgument if no tiling keeps the noise `kFloodingMargin` bits below the flooding.
[[nodiscard]] Tiling choose_tiling(const Params& params, const ProductSpec& spec);

}  // namespace blindfl::he::lattice
