#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

// How values and frequencies are laid out in ciphertexts. A chunk of `count` values takes as many slots for each of its
// frequencies, `side_by_side` frequencies in a ciphertext: frequency j of value v is in ciphertext
// j / side_by_side, slot (j % side_by_side) * count + v. A function's reply is one ciphertext for each chunk, whatever
// the frequencies: the products of all operands add up in the same slots.

namespace blindfl::he::lattice {

struct SlotChunk {
  std::size_t first = 0;  ///< of its values
  std::size_t count = 0;
  std::size_t side_by_side = 0;
  std::size_t operands = 0;

  /// Frequencies of one of its ciphertexts, of `frequencies` in all.
  [[nodiscard]] std::size_t frequencies_of(std::size_t operand, std::size_t frequencies) const {
    const std::size_t before = operand * side_by_side;
    return frequencies - before < side_by_side ? frequencies - before : side_by_side;
  }
};

/// What decides on a layout.
struct SlotSizes {
  std::size_t slots = 0;
  std::size_t values = 0;
  std::size_t frequencies = 0;
  std::size_t functions = 0;  ///< 0: a reply for each operand
  std::uint64_t operand_bytes = 0;
  std::uint64_t reply_bytes = 0;
};

/// The layout with the fewest bytes; for many values, nearly.
[[nodiscard]] std::vector<SlotChunk> slot_layout(const SlotSizes& sizes);

[[nodiscard]] std::size_t slot_operands(const std::vector<SlotChunk>& chunks);
[[nodiscard]] std::size_t slot_replies(const std::vector<SlotChunk>& chunks, std::size_t functions);
/// Of all ciphertexts, both ways.
[[nodiscard]] std::uint64_t layout_bytes(const SlotSizes& sizes);

}  // namespace blindfl::he::lattice
