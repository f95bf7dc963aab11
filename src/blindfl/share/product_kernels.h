#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "blindfl/base/int128.h"
#include "blindfl/share/digit_plan.h"

namespace blindfl {

/// The loops of a dense product that take the time, for one kind of processor. Each does the same, exactly.
///
/// Digits are words of 8 bytes: integers, or doubles. A tile is `rows` rows of the result by `2 * lanes` columns, or by
/// `lanes` where no more are left.
struct ProductKernels {
  std::string_view name;
  std::size_t rows;
  std::size_t lanes;
  /// From which sizes on, and up to how many pairs of digits, they are faster than the plain loop in 128 bits.
  /// Measured.
  struct Worth {
    std::size_t rows;
    std::size_t inner;
    std::size_t cols;
    std::size_t work;  // the three multiplied
    std::size_t pairs;
  };
  Worth worth;
  /// Whether `left_offset` times the sums of the right matrix' columns is to be taken off the result.
  bool offset_remains;

  DigitPlan (*plan)(std::uint64_t bound, int ring_bits, std::size_t inner);

  /// Digits of `x[i] + left_offset`, i < count: digit d of value i goes to out[d * digit_stride + i * stride].
  void (*cut_left)(const DigitPlan& plan, const std::int64_t* x, std::size_t count, std::uint64_t* out,
                   std::size_t stride, std::size_t digit_stride);

  /// Digits of `width` values, a multiple of `lanes`: digit d of value i goes to out[d * digit_stride + i].
  void (*cut_right)(const DigitPlan& plan, const UInt128* m, std::size_t width, std::uint64_t* out,
                    std::size_t digit_stride);

  struct Left {
    const std::uint64_t* digits;
    std::size_t row_stride;
    std::size_t inner_stride;
    std::size_t digit_stride;
  };
  struct Right {
    const std::uint64_t* digits;  // `width` values for each step along the inner dimension
    std::size_t digit_stride;
  };
  /// Adds the product of `rows` rows and `width` columns, over `inner` terms, to `totals`, row by row.
  void (*add_product)(const DigitPlan& plan, const Left& left, const Right& right, std::size_t inner, std::size_t width,
                      UInt128* totals);
};

/// What this processor can run, the fastest first; the last runs everywhere.
[[nodiscard]] const std::vector<const ProductKernels*>& available_product_kernels();

/// Null where this processor cannot run them.
[[nodiscard]] const ProductKernels* ifma_product_kernels();
[[nodiscard]] const ProductKernels* avx2_product_kernels();
[[nodiscard]] const ProductKernels& portable_product_kernels();

}  // namespace blindfl
