#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace blindfl::he::lattice {

// Residues of b bits on the wire: values come in blocks of 512, seen as 64 rows of 8 lanes. Each lane is a stream of
// its own, row after row, lowest bit first, and a block is the b words of lane 0 to 7, word after word: word w of lane
// l stands at 8 * w + l. Shifts and masks only, on 8 lanes at once.

constexpr std::size_t kPackedBlock = 512;

/// Bytes of `count` packed values, a multiple of 512.
[[nodiscard]] constexpr std::size_t packed_bytes(std::size_t count, int bits) {
  return count / 8 * static_cast<std::size_t>(bits);
}

/// `values` must be a multiple of 512, each below 2^bits; `words` has packed_bytes() / 8 of them.
void pack(std::span<const std::uint64_t> values, int bits, std::span<std::uint64_t> words);
void unpack(std::span<const std::uint64_t> words, int bits, std::span<std::uint64_t> values);

}  // namespace blindfl::he::lattice
