#pragma once

#include <torch/torch.h>

#include <cstdint>

// Which vectors of zeros and ones lie in a linear space: what recovering binary columns from linear mixtures of them
// comes down to. All tensors are of doubles, rows x columns.

namespace blindfl::lab::attacks {

/// An orthonormal basis of the space that `columns` span, as far as it stands out of rounding errors of `noise` in each
/// of their entries. Rows x dimension; the dimension may be 0.
/// Cost: one singular value decomposition.
[[nodiscard]] torch::Tensor orthonormal_basis(const torch::Tensor& columns, double noise);

/// `columns` without their projections on a space with an orthonormal basis.
[[nodiscard]] torch::Tensor without_projection(const torch::Tensor& columns, const torch::Tensor& basis);

/// How far and how long to look.
struct BinarySearch {
  std::int64_t most_exhaustive = 18;  ///< spaces of at most this dimension are searched exhaustively
  std::int64_t most_quadratic = 64;   ///< the largest dimension for joint diagonalisation
  std::int64_t starts = 256;          ///< of each kind of iteration
  double tolerance = 0.2;             ///< no entry of a vector that counts is further than this from the space
  std::uint64_t seed = 1;             ///< of the random choices: equal seeds find the same
};

/// Vectors of zeros and ones in the sum of two spaces, of which orthonormal bases are given, `known` orthogonal to
/// `unknown`. Those that lie in the known space alone are left out. One in each column, all different, those with the
/// fewest ones first. Three ways, until what was found spans the unknown space:
/// - exhaustively: a vector of the space follows from as many of its entries as the space has dimensions;
/// - `c*c = c` is linear in `(w w^T, w)` for `c = Y w`: the solutions w come from a joint diagonalisation of two
///   elements of its null space. Polynomial; needs as many rows as there are unknowns, and columns of which no product
///   is in the space, which those of a one-hot group are not;
/// - iterations from many starts that set entries to 0 and 1 and project back, for columns of one-hot groups.
/// Every vector was checked against the space, row by row: where there are many more rows than dimensions, what comes
/// back is in it.
[[nodiscard]] torch::Tensor binary_vectors(const torch::Tensor& known, const torch::Tensor& unknown,
                                           const BinarySearch& options = {});

}  // namespace blindfl::lab::attacks
