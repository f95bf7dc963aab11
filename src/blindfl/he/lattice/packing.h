#pragma once

#include <cstddef>
#include <cstdint>

namespace blindfl::he::lattice {

// Residues of b bits on the wire: values come in blocks of 512, seen as 64 rows of 8 lanes. Each lane is a stream of
// its own, row after row, lowest bit first, and a block is the b words of lane 0 to 7, word after word: word w of lane
// l stands at 8 * w + l. Shifts and masks only, on 8 lanes at once: see Kernels::pack.

constexpr std::size_t kPackedBlock = 512;
constexpr std::size_t kPackedLanes = 8;

/// Words of `count` packed values, a multiple of kPackedBlock.
[[nodiscard]] constexpr std::size_t packed_words(std::size_t count, int bits) {
  return count / 64 * static_cast<std::size_t>(bits);
}
[[nodiscard]] constexpr std::size_t packed_bytes(std::size_t count, int bits) {
  return 8 * packed_words(count, bits);
}

}  // namespace blindfl::he::lattice
