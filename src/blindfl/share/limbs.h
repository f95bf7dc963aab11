#pragma once

#include <cstddef>
#include <cstdint>

#include "blindfl/share/share_matrix.h"
#include "blindfl/tensor/int_matrix.h"

namespace blindfl {

/// How signed numbers too long for the left side of a product are cut: v = sum of d_i 2^(bits i), |d_i| <= bound().
///
/// `multiply(split_columns(x), stack_rows(m))` is `x * m` in the ring of `m`, whichever of the two is encrypted.
struct Limbs {
  int bits = 0;
  std::size_t count = 0;

  /// The cut of numbers of at most 2^value_bits in magnitude into `count` limbs.
  /// Throws InvalidArgument if limbs would be longer than an IntMatrix takes.
  static Limbs of(int value_bits, std::size_t count);

  [[nodiscard]] std::uint64_t bound() const { return std::uint64_t{1} << (bits - 1); }
};

/// The matrix of the lowest limbs, to its right that of the next, and so on. Values are read as signed
/// numbers of their ring.
/// Throws InvalidArgument if one is too long for the limbs.
[[nodiscard]] IntMatrix split_columns(const Limbs& limbs, const ShareMatrix& x);

/// `m`, below it `m` times 2^bits, and so on, all in its ring.
[[nodiscard]] ShareMatrix stack_rows(const Limbs& limbs, const ShareMatrix& m);

}  // namespace blindfl
