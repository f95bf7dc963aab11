#pragma once

#include <cstddef>
#include <cstdint>

#include "blindfl/share/product_kernels.h"

namespace blindfl {

/// The loops of `ProductKernels` over the arithmetic of one kind of processor. `Lanes` has internal linkage, and so has
/// all that is made of it: code for one processor is never taken for another.
template <class Lanes>
struct ProductLoops {
  using Sum = typename Lanes::Sum;
  static constexpr std::size_t kRows = Lanes::kRows;
  static constexpr std::size_t kLanes = Lanes::kLanes;

  template <std::size_t kVectors, bool kHigh>
  [[gnu::always_inline]] static inline void add_pair(const ProductKernels::Left& left, const std::uint64_t* x,
                                                     const std::uint64_t* m, std::size_t inner,
                                                     Sum (&sums)[kRows][kVectors]) {
    for (std::size_t k = 0; k < inner; ++k) {
      Sum right[kVectors];
#pragma GCC unroll 2
      for (std::size_t v = 0; v < kVectors; ++v) right[v] = Lanes::load(m + (k * kVectors + v) * kLanes);
#pragma GCC unroll 8
      for (std::size_t r = 0; r < kRows; ++r) {
        const Sum factor = Lanes::broadcast(x + r * left.row_stride + k * left.inner_stride);
#pragma GCC unroll 2
        for (std::size_t v = 0; v < kVectors; ++v) Lanes::template add<kHigh>(sums[r][v], factor, right[v]);
      }
    }
  }

  template <std::size_t kVectors>
  static void add_tile(const DigitPlan& plan, const ProductKernels::Left& left, const ProductKernels::Right& right,
                       std::size_t inner, UInt128* totals) {
    for (std::size_t first = 0; first < inner; first += plan.terms) {
      const std::size_t terms = inner - first < plan.terms ? inner - first : plan.terms;
      for (std::size_t p = 0; p < plan.place_count; ++p) {
        const DigitPlan::Place& place = plan.places[p];
        Sum sums[kRows][kVectors];
#pragma GCC unroll 8
        for (std::size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
          for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = Lanes::zero();
        }
        for (std::size_t i = place.first; i < std::size_t{place.first} + place.count; ++i) {
          const DigitPlan::Pair& pair = plan.pairs[i];
          const std::uint64_t* x = left.digits + pair.left * left.digit_stride + first * left.inner_stride;
          const std::uint64_t* m = right.digits + pair.right * right.digit_stride + first * kVectors * kLanes;
          if (pair.high) {
            add_pair<kVectors, true>(left, x, m, terms, sums);
          } else {
            add_pair<kVectors, false>(left, x, m, terms, sums);
          }
        }
#pragma GCC unroll 8
        for (std::size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
          for (std::size_t v = 0; v < kVectors; ++v) {
            Lanes::carry_over(sums[r][v], place.shift, totals + (r * kVectors + v) * kLanes);
          }
        }
      }
    }
  }

  static void add_product(const DigitPlan& plan, const ProductKernels::Left& left, const ProductKernels::Right& right,
                          std::size_t inner, std::size_t width, UInt128* totals) {
    if (width == kLanes) {
      add_tile<1>(plan, left, right, inner, totals);
    } else {
      add_tile<2>(plan, left, right, inner, totals);
    }
  }

  static constexpr ProductKernels table(std::string_view name) {
    return {name,        kRows,           kLanes,           Lanes::kWorth, Lanes::kOffsetRemains,
            Lanes::plan, Lanes::cut_left, Lanes::cut_right, add_product};
  }
};

/// `Lanes` of doubles: digits of either sign. `Vector` has the arithmetic.
template <class Vector>
struct DoubleLanes : Vector {
  using Sum = typename Vector::Sum;
  static constexpr std::size_t kLanes = Vector::kLanes;
  static constexpr bool kOffsetRemains = false;

  static DigitPlan plan(std::uint64_t bound, int ring_bits, std::size_t inner) {
    return signed_digits(bound, ring_bits, inner);
  }

  static std::uint64_t word(std::int64_t digit) {
    return __builtin_bit_cast(std::uint64_t, static_cast<double>(digit));
  }

  static void cut_left(const DigitPlan& plan, const std::int64_t* x, std::size_t count, std::uint64_t* out,
                       std::size_t stride, std::size_t digit_stride) {
    const std::int64_t low = (std::int64_t{1} << plan.left_bits) - 1;
    const std::int64_t half = std::int64_t{1} << (plan.left_bits - 1);
    const auto offset = static_cast<std::int64_t>(plan.left_offset);
    for (std::size_t i = 0; i < count; ++i) {
      std::int64_t rest = x[i] + offset;
      std::uint64_t* to = out + i * stride;
      for (std::size_t d = 0; d + 1 < plan.left_digits; ++d) {
        to[d * digit_stride] = word((rest & low) - half);
        rest >>= plan.left_bits;
      }
      to[(plan.left_digits - 1) * digit_stride] = word(rest);
    }
  }

  static void cut_right(const DigitPlan& plan, const UInt128* m, std::size_t width, std::uint64_t* out,
                        std::size_t digit_stride) {
    constexpr std::uint64_t kWord = std::uint64_t{0x433} << 52;  // 2^52 as a double: its lowest bits count units
    const std::uint64_t mask = (std::uint64_t{1} << plan.right_bits) - 1;
    const double origin = 0x1p52 + static_cast<double>(std::int64_t{1} << (plan.right_bits - 1));
    // Words rather than numbers of 128 bits, so that the shifts are done in vectors.
    std::uint64_t low[2 * kLanes];
    std::uint64_t high[2 * kLanes];
    for (std::size_t i = 0; i < width; ++i) {
      const UInt128 number = m[i] + plan.right_offset;
      low[i] = static_cast<std::uint64_t>(number);
      high[i] = static_cast<std::uint64_t>(number >> 64);
    }
    for (std::size_t d = 0; d < plan.right_digits; ++d) {
      const int shift = plan.right_bits * static_cast<int>(d);
      std::uint64_t* to = out + d * digit_stride;
      const auto cut = [&](auto&& bits) {
        for (std::size_t i = 0; i < width; ++i) {
          const auto real = __builtin_bit_cast(double, (bits(i) & mask) | kWord);
          to[i] = __builtin_bit_cast(std::uint64_t, real - origin);
        }
      };
      if (shift == 0) {
        cut([&](std::size_t i) { return low[i]; });
      } else if (shift < 64) {
        cut([&](std::size_t i) { return low[i] >> shift | high[i] << (64 - shift); });
      } else {
        cut([&](std::size_t i) { return high[i] >> (shift - 64); });
      }
    }
  }

  static void carry_over(Sum sum, int shift, UInt128* totals) {
    double values[kLanes];
    Vector::store(values, sum);
    for (std::size_t i = 0; i < kLanes; ++i) {
      const auto value = static_cast<Int128>(static_cast<std::int64_t>(values[i]));
      totals[i] += static_cast<UInt128>(value) << shift;
    }
  }
};

}  // namespace blindfl
