#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "blindfl/base/int128.h"

namespace blindfl {

/// How vector units multiply numbers longer than they are: both factors are cut into digits, and the products of digits
/// that belong to the same place are added up in one word each, exactly, for as many terms as fit.
///
/// `left` is `x + left_offset` and `right` is `m + right_offset`, cut into digits; a product that is worth nothing
/// modulo the ring is left out. What kernels need is here, worked out once per product.
struct DigitPlan {
  struct Pair {
    std::uint8_t left = 0;
    std::uint8_t right = 0;
    bool high = false;  // the upper half of a product of two 52-bit digits
  };
  /// The pairs first, ..., first + count - 1, whose sum counts 2^shift.
  struct Place {
    int shift = 0;
    std::uint8_t first = 0;
    std::uint8_t count = 0;
  };
  static constexpr std::size_t kMostPairs = 48;
  static constexpr std::size_t kMostPlaces = 16;

  int left_bits = 0;   // of each digit but the uppermost
  int right_bits = 0;  // of each digit
  std::size_t left_digits = 0;
  std::size_t right_digits = 0;
  std::uint64_t left_offset = 0;
  UInt128 right_offset = 0;
  /// Terms, over the inner dimension, after which sums must be carried over.
  std::size_t terms = 0;
  std::array<Pair, kMostPairs> pairs{};
  std::array<Place, kMostPlaces> places{};
  std::size_t pair_count = 0;
  std::size_t place_count = 0;
};

/// For digits from 0 to 2^52 - 1, whose products come as a lower and an upper half of 52 bits, added in words of 64.
/// Left is `x + bound`, which is not negative: `bound` times the sum of m's column must be taken off in the end.
[[nodiscard]] DigitPlan unsigned_digits(std::uint64_t bound, int ring_bits);

/// For digits of either sign, as doubles: whatever is added up stays below 2^53, where they are exact. Each digit is
/// cut from a number with half of every digit added, and then that half is taken off the digit. `inner` is how many
/// terms there will be: fewer of them leave room for longer digits.
[[nodiscard]] DigitPlan signed_digits(std::uint64_t bound, int ring_bits, std::size_t inner);

}  // namespace blindfl
