#pragma once

#include <array>
#include <cstddef>
#include <cstring>

#include "blindfl/base/int128.h"
#include "blindfl/ot/kernels.h"

// Levels of trees and rows of leaves, for processors that encrypt block by block. `Cipher`, in an unnamed namespace,
// has
//
//   encrypt(key, blocks, count)   in place; count is a multiple of 8
//
// and the loops keep some 64 blocks together, which hides latencies, and what a call costs.

namespace blindfl::ot {

template <class Cipher>
struct RowLoop {
  static constexpr std::size_t kTrees = 8;
  static constexpr std::size_t kPiece = 8;  // blocks of a row that are made together

  /// As `Kernels::grow`.
  static void grow(const std::byte* key, const Block* parents, std::size_t count, std::uint64_t first, Block* children,
                   Block* sums) {
    std::memset(sums, 0, 2 * kTrees * sizeof(Block));
    for (std::size_t i = 0; i < count; ++i) {
      const Block* const from = parents + kTrees * i;
      Block* const to = children + 2 * kTrees * i;
      for (std::size_t c = 0; c < 2 * kTrees; ++c) {
        to[c] = from[c % kTrees] ^ Block { c / kTrees, first + c % kTrees };
      }
      Cipher::encrypt(key, to, 2 * kTrees);
      for (std::size_t c = 0; c < 2 * kTrees; ++c) {
        to[c] ^= from[c % kTrees];
        sums[c] ^= to[c];
      }
    }
  }

  /// As `Kernels::add_rows`.
  static void add_rows(const std::byte* key, const LeafRows& rows) {
    if (rows.wide) {
      add<UInt128>(key, rows);
    } else {
      add<std::uint64_t>(key, rows);
    }
  }

 private:
  template <class Word>
  static void add(const std::byte* key, const LeafRows& rows) {
    std::array<Block, kTrees * kPiece> made;
    for (std::size_t v = 0; v < rows.count; ++v) {
      const Block* const leaves = rows.leaves + kTrees * v;
      for (std::size_t begin = 0; begin < rows.blocks; begin += kPiece) {
        const std::size_t size = rows.blocks - begin < kPiece ? rows.blocks - begin : kPiece;
        for (std::size_t q = 0; q < kTrees; ++q) {
          for (std::size_t i = 0; i < size; ++i) made[q * size + i] = leaves[q] ^ Block { begin + i, rows.first + q };
        }
        Cipher::encrypt(key, made.data(), kTrees * size);
        for (std::size_t q = 0; q < rows.trees; ++q) {
          const std::size_t column = rows.to == nullptr ? v : rows.to[kTrees * v + q];
          for (std::size_t i = 0; i < size; ++i) {
            const Block block = made[q * size + i] ^ leaves[q];
            add_block<Word>(rows.columns + sizeof(Block) * (column * rows.blocks + begin + i), block);
            add_block<Word>(rows.sums + sizeof(Block) * (q * rows.blocks + begin + i), block);
          }
        }
      }
    }
    explicit_bzero(made.data(), sizeof made);
  }

  template <class Word>
  static void add_block(std::byte* to, const Block& block) {
    Word sum[sizeof(Block) / sizeof(Word)];
    Word term[sizeof(Block) / sizeof(Word)];
    std::memcpy(sum, to, sizeof sum);
    std::memcpy(term, &block, sizeof term);
    for (std::size_t i = 0; i < sizeof(Block) / sizeof(Word); ++i) sum[i] += term[i];
    std::memcpy(to, sum, sizeof sum);
  }
};

}  // namespace blindfl::ot
