#pragma once

#include <cstddef>
#include <span>

#include "blindfl/base/bytes.h"
#include "blindfl/base/int128.h"
#include "blindfl/base/random.h"

// Numbers modulo the prime 2^127 - 1, each below it: shares that add up, and the coefficients of polynomials.

namespace blindfl::protocol {

using FieldElement = UInt128;

constexpr FieldElement kFieldPrime = (static_cast<UInt128>(1) << 127) - 1;

/// Of any 128 bits, the same number modulo the prime.
constexpr FieldElement reduced(UInt128 x) {
  const UInt128 sum = (x & kFieldPrime) + (x >> 127);
  return sum - (sum >= kFieldPrime ? kFieldPrime : 0);
}

constexpr FieldElement field_sum(FieldElement a, FieldElement b) {
  return reduced(a + b);
}
constexpr FieldElement field_difference(FieldElement a, FieldElement b) {
  return reduced(a + (kFieldPrime - b));
}

constexpr FieldElement field_product(FieldElement a, FieldElement b) {
  const UInt128 low = static_cast<UInt128>(low64(a)) * low64(b);
  const UInt128 middle = static_cast<UInt128>(low64(a)) * high64(b) + static_cast<UInt128>(high64(a)) * low64(b);
  const UInt128 below = low + (middle << 64);
  const UInt128 above = static_cast<UInt128>(high64(a)) * high64(b) + (middle >> 64) + (below < low ? 1 : 0);
  // 2^128 is 2. No overflow: both terms are at most 2^127.
  return reduced(2 * above + (below & kFieldPrime) + (below >> 127));
}

/// Of a number that is not 0.
constexpr FieldElement field_inverse(FieldElement a) {
  // To the power of p - 2, whose bits are all 1 but the second.
  FieldElement inverse = 1;
  for (int bit = 126; bit >= 0; --bit) {
    inverse = field_product(inverse, inverse);
    if (bit != 1) inverse = field_product(inverse, a);
  }
  return inverse;
}

/// Of 16 bytes of a hash, little-endian, 127 bits of them: uniform to 2^-127.
inline FieldElement field_element_of(std::span<const std::byte, 16> bytes) {
  UInt128 x = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) x = x << 8 | std::to_integer<unsigned>(bytes[i - 1]);
  return reduced(x & kFieldPrime);
}

/// A fresh one: uniform to 2^-127.
inline FieldElement random_field_element(Random& random) {
  return reduced(random.next_u128() & kFieldPrime);
}

}  // namespace blindfl::protocol
