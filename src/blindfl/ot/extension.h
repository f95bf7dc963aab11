#pragma once

#include "blindfl/ot/kernels.h"
#include "blindfl/ot/session.h"

// From punctured trees to any number of correlated OTs, a tile at a time: Roy, "SoftSpokenOT: Quieter OT Extension From
// Small-Field Silent VOLE in the Minicrypt Model", CRYPTO 2022, against passive parties.
//
// Leaf x of tree g has a stream r_x of AES blocks, 2048 bits for each tile. The receiver adds up u_g, all of a tree's,
// and v_j, those whose number has bit j set. The sender, who counts leaves from the unknown one, gets
// q_j = v_j + D_j u_g in the same way, where D is its secret: the unknown leaf is never among those that it adds.
// The receiver takes u_0 for its choices and sends u_g - u_0 for the other trees; with D_j times that, all 128 rows of
// the sender are q_j = v_j + D_j u_0. Read by columns: the sender's block is the receiver's, plus D where the choice
// is 1. The pools hash them: what is left is a pad that both know, and one that only the sender does.
//
// Why it is safe. Of every u_g the sender misses one stream, which is uniform to it: u_0 is, and so is each u_g - u_0.
// The receiver receives nothing here: its choices are its own, and D is 128 bits that only the hash (TMMO, tweakable
// circular correlation robust: Guo, Katz, Wang and Yu, "Efficient and Secure Multiparty Computation from Fixed-Key
// Block Ciphers", S&P 2020) stands on. The counter is the tile's number, so no two tiles share a stream's blocks.

namespace blindfl::ot {

/// Bytes of corrections for one tile.
[[nodiscard]] inline std::size_t correction_bytes(const OtSession& session) {
  return (session.trees() - 1) * kRowBytes;
}

class ReceiverTiles {
 public:
  /// `leaves` as of `grow_trees`.
  ReceiverTiles(const OtSession& session, const SecretBlocks& leaves, const Kernels& kernels);

  /// Tile number `tile`: kTileOts blocks, as many choice bits, and what the sender needs.
  void make(std::uint64_t tile, Block* blocks, std::byte* choices, std::byte* corrections);

 private:
  CipherKeys leaves_;
  int depth_;
  std::size_t trees_;
  std::uint64_t nonce_;
  AlignedSecret<std::byte> rows_;
};

class SenderTiles {
 public:
  /// `leaves` as of `punctured_trees`.
  SenderTiles(const OtSession& session, const Block& secret, const SecretBlocks& leaves, const Kernels& kernels);

  void make(std::uint64_t tile, const std::byte* corrections, Block* blocks);

 private:
  CipherKeys leaves_;
  int depth_;
  std::size_t trees_;
  std::uint64_t nonce_;
  AlignedSecret<std::uint64_t> masks_;  // bit j of the secret, 64 times
  AlignedSecret<std::byte> rows_;
};

}  // namespace blindfl::ot
