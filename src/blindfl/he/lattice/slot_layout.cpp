#include "blindfl/he/lattice/slot_layout.h"

#include <algorithm>
#include <limits>

namespace blindfl::he::lattice {

namespace {

std::size_t ceil_div(std::size_t a, std::size_t b) {
  return (a + b - 1) / b;
}

std::uint64_t bytes_of_chunk(const SlotSizes& s, std::size_t operands) {
  return operands * s.operand_bytes + (s.functions == 0 ? operands : s.functions) * s.reply_bytes;
}

/// The number of values of each chunk that `values` of them, at most as many as there are slots, are best cut into.
std::vector<std::size_t> best_cut(const SlotSizes& s, std::size_t values) {
  std::vector<std::uint64_t> least(values + 1, std::numeric_limits<std::uint64_t>::max());
  std::vector<std::size_t> last(values + 1);
  least[0] = 0;
  for (std::size_t v = 1; v <= values; ++v) {
    for (std::size_t side_by_side = 1; side_by_side <= std::min(s.frequencies, s.slots); ++side_by_side) {
      const std::size_t count = std::min(v, s.slots / side_by_side);
      const std::uint64_t bytes = least[v - count] + bytes_of_chunk(s, ceil_div(s.frequencies, side_by_side));
      if (bytes >= least[v]) continue;
      least[v] = bytes;
      last[v] = count;
    }
  }
  std::vector<std::size_t> counts;
  for (std::size_t v = values; v > 0; v -= last[v]) counts.push_back(last[v]);
  return counts;
}

}  // namespace

std::vector<SlotChunk> slot_layout(const SlotSizes& s) {
  // Ciphertexts full of one frequency each have the fewest bytes for a value: what is saved otherwise are slots that
  // would stay empty.
  std::vector<std::size_t> counts(s.values / s.slots, s.slots);
  const std::vector<std::size_t> rest = best_cut(s, s.values % s.slots);
  counts.insert(counts.end(), rest.begin(), rest.end());
  std::vector<SlotChunk> chunks;
  std::size_t first = 0;
  for (const std::size_t count : counts) {
    const std::size_t side_by_side = std::min(s.frequencies, s.slots / count);
    chunks.push_back({first, count, side_by_side, ceil_div(s.frequencies, side_by_side)});
    first += count;
  }
  return chunks;
}

std::size_t slot_operands(const std::vector<SlotChunk>& chunks) {
  std::size_t sum = 0;
  for (const SlotChunk& c : chunks) sum += c.operands;
  return sum;
}

std::size_t slot_replies(const std::vector<SlotChunk>& chunks, std::size_t functions) {
  return functions == 0 ? slot_operands(chunks) : chunks.size() * functions;
}

std::uint64_t layout_bytes(const SlotSizes& sizes) {
  const auto chunks = slot_layout(sizes);
  return slot_operands(chunks) * sizes.operand_bytes + slot_replies(chunks, sizes.functions) * sizes.reply_bytes;
}

}  // namespace blindfl::he::lattice
