#pragma once

#include "blindfl/base/thread_pool.h"
#include "blindfl/share/share_matrix.h"
#include "blindfl/tensor/int_matrix.h"

namespace blindfl {

/// `x * m` in the ring of `m`: what a party does with a matrix it holds and its own share. Scales add up.
/// Cost: one ring multiplication per stored entry of `x` and column of `m`; a fraction of that, in vectors, for a dense
/// `x` and several columns: the less, the shorter its values and the ring.
/// Throws InvalidArgument if the shapes do not fit.
[[nodiscard]] ShareMatrix multiply(const IntMatrix& x, const ShareMatrix& m, ThreadPool& pool);
[[nodiscard]] ShareMatrix multiply(const IntMatrix& x, const ShareMatrix& m);

/// `transpose(x) * m` in the ring of `m`, without making the transpose.
[[nodiscard]] ShareMatrix multiply_transposed(const IntMatrix& x, const ShareMatrix& m, ThreadPool& pool);
[[nodiscard]] ShareMatrix multiply_transposed(const IntMatrix& x, const ShareMatrix& m);

/// The integers of `x` as elements of the ring of 2^128.
[[nodiscard]] ShareMatrix to_ring(const IntMatrix& x);

/// Bits of the magnitude of a sum of `terms` products of values bounded by `left` and `right`; 128 if it could be more.
[[nodiscard]] int product_bits(std::size_t terms, UInt128 left, UInt128 right);

}  // namespace blindfl
