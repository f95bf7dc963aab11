#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace blindfl::ot {

/// Bit i of a message's bits is bit i & 7 of byte i / 8.
[[nodiscard]] inline std::uint64_t bit_at(std::span<const std::byte> bits, std::size_t i) {
  return std::to_integer<std::uint64_t>(bits[i / 8]) >> (i % 8) & 1;
}
/// XOR.
inline void add_bit(std::span<std::byte> bits, std::size_t i, std::uint64_t bit) {
  bits[i / 8] ^= static_cast<std::byte>(bit << (i % 8));
}

}  // namespace blindfl::ot
