#pragma once

#include <cstdint>

#include "blindfl/base/aligned.h"

namespace blindfl::ot {

/// 128 bits: a pad, a key, a row of the transposed matrix. Without a value until it is given one: `Block{}` is zero.
/// Bit i is bit i of `low`, or bit i - 64 of `high`.
struct alignas(16) Block {
  std::uint64_t low;
  std::uint64_t high;

  bool operator==(const Block&) const = default;
  friend Block operator^(const Block& a, const Block& b) { return {a.low ^ b.low, a.high ^ b.high}; }
  friend Block operator&(const Block& a, const Block& b) { return {a.low & b.low, a.high & b.high}; }
  Block& operator^=(const Block& other) { return *this = *this ^ other; }

  /// 0 or 1. `i` must be public.
  [[nodiscard]] std::uint64_t bit(int i) const { return (i < 64 ? low >> i : high >> (i - 64)) & 1; }
};

/// All ones where `bit` is 1, all zeros where it is 0: what choices are made with, instead of branches.
[[nodiscard]] inline Block mask_of(std::uint64_t bit) {
  return {0 - bit, 0 - bit};
}
/// 1 if both are equal, else 0, without a branch. Both must be below 2^63.
[[nodiscard]] inline std::uint64_t is_equal(std::uint64_t a, std::uint64_t b) {
  return ((a ^ b) - 1) >> 63;
}

/// Cleared when freed.
using SecretBlocks = AlignedSecret<Block>;

}  // namespace blindfl::ot
