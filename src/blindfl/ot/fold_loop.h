#pragma once

#include <cstddef>
#include <cstring>

#include "blindfl/ot/kernels.h"
#include "blindfl/ot/session.h"

// The fold of a tree's leaves, once for all processors. `Lanes`, in an unnamed namespace, says what a piece of a
// stream is and how to make one:
//
//   Piece                     some bytes of a stream, in registers
//   kBytes                    how many
//   zero, add, store          on pieces
//   counters(counter, piece)  what the ciphers encrypt for that piece of the tile
//   streams(a, b, c, x, y)    the pieces x, y of the streams under the expanded keys a, b; c are the counters

namespace blindfl::ot {

/// As `Kernels::fold`.
///
/// The rows are sums over half of the leaves each, but cost two additions a leaf: like a binary counter, the total of
/// every full subtree waits at its height for its sister; where two meet, the right one's leaves have that bit set.
template <class Lanes>
struct FoldLoop {
  using Piece = typename Lanes::Piece;
  static constexpr int kMostDepth = 8;

  static void fold(const std::byte* keys, int depth, bool first_unknown, const Block& counter, std::byte* rows,
                   std::byte* sum) {
    for (std::size_t piece = 0; piece < kRowBytes / Lanes::kBytes; ++piece) {
      fold_piece(keys, depth, first_unknown, Lanes::counters(counter, piece), rows + piece * Lanes::kBytes,
                 sum + piece * Lanes::kBytes);
    }
  }

 private:
  static void fold_piece(const std::byte* keys, int depth, bool first_unknown, const typename Lanes::Counters& counters,
                         std::byte* rows, std::byte* sum) {
    Piece total[kMostDepth];
    Piece waiting[kMostDepth];
    for (int j = 0; j < depth; ++j) total[j] = Lanes::zero();
    for (std::size_t pair = 0; pair < std::size_t{1} << (depth - 1); ++pair) {
      Piece left;
      Piece right;
      const std::byte* key = keys + 2 * pair * Lanes::kKeyBytes;
      Lanes::streams(key, key + Lanes::kKeyBytes, counters, left, right);
      if (first_unknown && pair == 0) left = Lanes::zero();
      Lanes::add(total[0], right);
      Lanes::add(left, right);
      int height = 1;
      for (; (pair >> (height - 1) & 1) != 0; ++height) {
        Lanes::add(total[height], left);
        Lanes::add(left, waiting[height]);
      }
      if (height < depth) {
        waiting[height] = left;
      } else {
        Lanes::store(sum, left);
      }
    }
    for (int j = 0; j < depth; ++j) Lanes::store(rows + static_cast<std::size_t>(j) * kRowBytes, total[j]);
  }
};

}  // namespace blindfl::ot
