#pragma once

#include <bit>
#include <cstdint>

namespace blindfl {

__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

constexpr std::uint64_t low64(UInt128 x) {
  return static_cast<std::uint64_t>(x);
}
constexpr std::uint64_t high64(UInt128 x) {
  return static_cast<std::uint64_t>(x >> 64);
}

/// Number of bits of `x`: the least `n` with `x < 2^n`.
constexpr int bit_length(UInt128 x) {
  return static_cast<int>(high64(x) != 0 ? 64 + std::bit_width(high64(x)) : std::bit_width(low64(x)));
}

/// `x` modulo 2^bits, for bits from 1 to 128.
constexpr UInt128 low_bits(UInt128 x, int bits) {
  return x & (~static_cast<UInt128>(0) >> (128 - bits));
}

/// The lowest `bits` bits of `x` read as a signed number, for bits from 1 to 128.
constexpr Int128 signed_low_bits(UInt128 x, int bits) {
  return static_cast<Int128>(x << (128 - bits)) >> (128 - bits);
}

}  // namespace blindfl
