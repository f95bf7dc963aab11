#pragma once

#include <bit>
#include <cstdint>

#include "blindfl/he/paillier/scalar_task.h"

// Exponents as sums of digits.

namespace blindfl::he::paillier {

/// One above the highest position of a digit.
constexpr int kDigitPositions = 64;

/// Writes an exponent as a sum of digit * 2^position, digits odd and of a magnitude below 2^width, and calls
/// f(position, digit) for each, the lowest first. `balanced` digits have either sign, and there is one in about
/// width + 2 bits; the others have the exponent's sign, one in about width + 1 bits.
template <class F>
void for_each_digit(std::int64_t exponent, int width, bool balanced, F&& f) {
  const std::int64_t sign = exponent < 0 ? -1 : 1;
  const int window = balanced ? width + 1 : width;
  const std::uint64_t mask = (std::uint64_t{1} << window) - 1;
  std::uint64_t left = magnitude(exponent);
  int position = 0;
  while (left != 0) {
    const int zeros = std::countr_zero(left);
    position += zeros;
    left >>= zeros;
    auto digit = static_cast<std::int64_t>(left & mask);
    if (balanced && (digit >> width) != 0) digit -= std::int64_t{1} << window;
    left -= static_cast<std::uint64_t>(digit);
    f(position, sign * digit);
  }
}

/// Cuts an exponent into windows of `width` bits and calls f(window, digit) for each that is not 0, the lowest first.
/// Digits have the exponent's sign.
template <class F>
void for_each_window(std::int64_t exponent, int width, F&& f) {
  const std::int64_t sign = exponent < 0 ? -1 : 1;
  const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
  int window = 0;
  for (std::uint64_t left = magnitude(exponent); left != 0; left >>= width, ++window) {
    if ((left & mask) != 0) f(window, sign * static_cast<std::int64_t>(left & mask));
  }
}

}  // namespace blindfl::he::paillier
