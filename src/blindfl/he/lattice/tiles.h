#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "blindfl/he/plan.h"

// How a matrix product is laid out in polynomials modulo x^N + 1.
//
// The right matrix is cut into tiles of `inner` rows and `cols` columns: element (j, c) is the coefficient of x^(c +
// cols j). The left one is cut into tiles of `rows` rows and `inner` columns: element (r, j) is the coefficient of
// x^(cols (r inner + inner - 1 - j)). In their product the coefficient of x^(c + cols (r inner + inner - 1)) is the sum
// over j that we want, if rows * inner * cols <= N; what wraps around lands below the first of these. The other
// coefficients are partial sums and never leave the multiplier.

namespace blindfl::he::lattice {

/// A product's layout.
struct Tiling {
  std::size_t rows = 0;   ///< of the left matrix in one tile
  std::size_t inner = 0;  ///< columns of the left and rows of the right matrix in one tile
  std::size_t cols = 0;   ///< of the right matrix in one tile: 1, up to 7 if it has no more, or a multiple of 8

  std::size_t row_tiles = 0;
  std::size_t inner_tiles = 0;
  std::size_t col_tiles = 0;

  /// Where result (r, c) of a tile is in the product.
  [[nodiscard]] std::size_t result_position(std::size_t r, std::size_t c) const {
    return c + cols * (r * inner + inner - 1);
  }
  /// How many neighbouring positions of a left tile's transform have the same value. A tile is a polynomial in x^cols,
  /// and so in x to the largest power of two that divides cols, which shows in groups that fill a register, and is of
  /// no use in smaller ones.
  [[nodiscard]] std::size_t repeats() const;
  /// Results stand `inner` apart and nowhere else, so that a sparse inverse transform (Kernels::inverse_sparse) gives
  /// them all: for one column, and an `inner` that it can do at this degree.
  [[nodiscard]] bool sparse_results(std::size_t degree) const;
  [[nodiscard]] std::string operand_layout() const;
  bool operator==(const Tiling&) const = default;
};

/// The layouts that come into question at a degree, none of which is larger than another in every respect.
[[nodiscard]] std::vector<Tiling> tilings(std::size_t degree, const ProductSpec& spec);

}  // namespace blindfl::he::lattice
