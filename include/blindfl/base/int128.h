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

}  // namespace blindfl
