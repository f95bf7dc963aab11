#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/base/secret.h"
#include "blindfl/ot/extension.h"
#include "blindfl/ot/session.h"

// Random OTs in stock. For each one the sender has two pads of 128 random bits, the receiver a random choice and the
// pad of that choice. Both parties take the same numbers of them in the same order; each can be taken once.
//
//   receiver:  Bytes message = pool.extend(4);           sender:  pool.extend(message, 4);      // 8192 more
//              ReceiverBatch mine = pool.take(100);               SenderBatch mine = pool.take(100);
//              mine.pads[i] == (choice i ? the sender's one[i] : its zero[i])
//
// Pads are TMMO hashes of the extension's blocks (extension.h), under an AES key that is derived from the session, the
// direction and the tile, with the position in the tile and the purpose as tweak: at most 2^13 calls of one key, so
// that many sessions cost no bits of security (Guo, Katz, Wang, Weng and Yu, "Better Concrete Security for Half-Gates
// Garbling", CRYPTO 2020). What was taken is overwritten in the pool at once; the rest when the pool goes.
//
// A pool is never saved. Its counter is what keeps streams from repeating: a pool that came back from a file would give
// the same pads again, for other values. After a resume both parties set up anew.

namespace blindfl::ot {

/// Blocks that were made and not yet taken, tile by tile.
class TileQueue {
 public:
  struct Tile {
    std::uint64_t number = 0;
    SecretBlocks blocks;
    SecretVector<std::uint64_t> choices;  // empty at the sender
  };
  /// Some blocks of one tile: from `first` on.
  struct Run {
    const Tile& tile;
    std::size_t first;
    std::size_t count;
    std::size_t taken;  ///< how many of this batch came before
  };

  TileQueue() = default;
  TileQueue(TileQueue&& other) noexcept;
  TileQueue& operator=(TileQueue&& other) noexcept;
  TileQueue(const TileQueue&) = delete;
  TileQueue& operator=(const TileQueue&) = delete;
  ~TileQueue() = default;

  /// Room for a tile, in memory of one that was used up if there is such; its blocks have no value yet.
  [[nodiscard]] Tile room_for(std::uint64_t number, bool with_choices);
  void push(Tile tile) { tiles_.push_back(std::move(tile)); }
  [[nodiscard]] std::size_t ready() const { return tiles_.size() * kTileOts - begin_; }
  [[nodiscard]] std::uint64_t position() const { return position_; }

  /// Calls `use` for each run of the next `count` blocks, then overwrites them. Throws InvalidArgument if there are
  /// fewer.
  template <class Use>
  void take(std::size_t count, const Use& use) {
    require_ready(count);
    for (std::size_t taken = 0; taken < count;) {
      Tile& tile = tiles_.front();
      const std::size_t run = std::min(count - taken, kTileOts - begin_);
      use(Run{tile, begin_, run, taken});
      taken += run;
      drop(run);
    }
  }

 private:
  void require_ready(std::size_t count) const;
  void drop(std::size_t count);

  std::deque<Tile> tiles_;
  std::vector<Tile> spare_;  // overwritten
  std::size_t begin_ = 0;    // of the first tile
  std::uint64_t position_ = 0;
};

/// The sender's part of some random OTs.
struct SenderBatch {
  SenderBatch() = default;
  explicit SenderBatch(std::size_t count) : zero(count), one(count) {}
  SenderBatch(SenderBatch&&) = default;
  SenderBatch& operator=(SenderBatch&&) = default;
  SenderBatch(const SenderBatch&) = delete;
  SenderBatch& operator=(const SenderBatch&) = delete;
  ~SenderBatch() = default;

  [[nodiscard]] std::size_t size() const { return zero.size(); }

  SecretBlocks zero;
  SecretBlocks one;
};

/// The receiver's. Choice i is bit i % 64 of word i / 64; bits beyond the last are zero.
struct ReceiverBatch {
  ReceiverBatch() = default;
  explicit ReceiverBatch(std::size_t count) : pads(count), choices((count + 63) / 64) {}
  ReceiverBatch(ReceiverBatch&&) = default;
  ReceiverBatch& operator=(ReceiverBatch&&) = default;
  ReceiverBatch(const ReceiverBatch&) = delete;
  ReceiverBatch& operator=(const ReceiverBatch&) = delete;
  ~ReceiverBatch() = default;

  [[nodiscard]] std::size_t size() const { return pads.size(); }

  SecretBlocks pads;
  SecretVector<std::uint64_t> choices;
};

/// Pads of some of the random OTs of a batch, from number `first` on, while they are in the nearest cache: for those
/// who need few bits of each. They are overwritten afterwards.
struct SenderPiece {
  std::size_t first;
  std::span<const Block> zero;
  std::span<const Block> one;
};
struct ReceiverPiece {
  std::size_t first;
  std::span<const Block> pads;
};
/// Random OTs in a piece, at most.
inline constexpr std::size_t kPieceOts = 256;

/// Bytes of the message that `tiles` tiles take, from receiver to sender.
[[nodiscard]] std::uint64_t extension_bytes(const OtSession& session, std::size_t tiles);
/// Tiles that hold `ots` random OTs.
[[nodiscard]] constexpr std::size_t tiles_for(std::size_t ots) {
  return (ots + kTileOts - 1) / kTileOts;
}

/// Who has both pads. Made by `SenderSetup`.
class RandomOtSender {
 public:
  RandomOtSender(const OtSession& session, const Block& secret, const SecretBlocks& leaves, const Kernels& kernels);
  RandomOtSender(RandomOtSender&&) = default;
  RandomOtSender& operator=(RandomOtSender&&) = default;
  RandomOtSender(const RandomOtSender&) = delete;
  RandomOtSender& operator=(const RandomOtSender&) = delete;
  ~RandomOtSender();

  /// kTileOts * `tiles` more. Cost: about 5 ns each (k = 4). Throws ProtocolError, before anything changes, if the
  /// message is not the receiver's for as many tiles at this place of this session.
  void extend(ByteView message, std::size_t tiles);
  /// The next `count`. Cost: about 3 ns each. Throws InvalidArgument if fewer are ready.
  [[nodiscard]] SenderBatch take(std::size_t count);
  /// The next `count`, each with two independent pairs of pads for one choice of the receiver's.
  [[nodiscard]] std::pair<SenderBatch, SenderBatch> take_twice(std::size_t count);
  /// As `take`, but `use(SenderPiece)` sees the pads piece by piece, in order, and nobody keeps them.
  template <class Use>
  void take_pieces(std::size_t count, const Use& use) {
    queue_.take(count, [&](const TileQueue::Run& run) {
      const CipherKeys key = hash_key(run);
      for (std::size_t done = 0; done < run.count; done += kPieceOts) use(piece_of(key, run, done));
    });
    clear_piece();
  }

  [[nodiscard]] std::size_t ready() const { return queue_.ready(); }
  /// How many were taken.
  [[nodiscard]] std::uint64_t position() const { return queue_.position(); }
  /// 32 bytes that are the peer's, too, if it took as many of the same session: what messages that use a batch can
  /// name.
  [[nodiscard]] OtSession::Digest place() const { return session_.derived("place", position()); }

 private:
  void hash(const TileQueue::Run& run, std::uint64_t purpose, SenderBatch& out) const;
  [[nodiscard]] CipherKeys hash_key(const TileQueue::Run& run) const;
  [[nodiscard]] SenderPiece piece_of(const CipherKeys& key, const TileQueue::Run& run, std::size_t done);
  void clear_piece();

  OtSession session_;
  const Kernels* kernels_;
  Block secret_;
  SecretBlocks piece_;
  SenderTiles tiles_;
  std::uint64_t next_tile_ = 0;
  TileQueue queue_;
};

/// Who has choices, and the pads of these. Made by `ReceiverSetup`.
class RandomOtReceiver {
 public:
  RandomOtReceiver(const OtSession& session, const SecretBlocks& leaves, const Kernels& kernels);
  RandomOtReceiver(RandomOtReceiver&&) = default;
  RandomOtReceiver& operator=(RandomOtReceiver&&) = default;
  RandomOtReceiver(const RandomOtReceiver&) = delete;
  RandomOtReceiver& operator=(const RandomOtReceiver&) = delete;
  ~RandomOtReceiver() = default;

  /// kTileOts * `tiles` more, and what the sender needs for them. Cost: `extension_bytes`; about 5 ns each (k = 4).
  [[nodiscard]] Bytes extend(std::size_t tiles);
  /// The next `count`. Throws InvalidArgument if fewer are ready.
  [[nodiscard]] ReceiverBatch take(std::size_t count);
  /// The next `count`, each choice with two independent pads.
  [[nodiscard]] std::pair<ReceiverBatch, ReceiverBatch> take_twice(std::size_t count);
  /// As `take`, but `use(ReceiverPiece)` sees the pads piece by piece, in order, and nobody keeps them. Returns the
  /// choices.
  template <class Use>
  [[nodiscard]] SecretVector<std::uint64_t> take_pieces(std::size_t count, const Use& use) {
    SecretVector<std::uint64_t> choices((count + 63) / 64);
    queue_.take(count, [&](const TileQueue::Run& run) {
      const CipherKeys key = hash_key(run);
      for (std::size_t done = 0; done < run.count; done += kPieceOts) use(piece_of(key, run, done));
      copy_choices(run, choices);
    });
    clear_piece();
    return choices;
  }

  [[nodiscard]] std::size_t ready() const { return queue_.ready(); }
  [[nodiscard]] std::uint64_t position() const { return queue_.position(); }
  [[nodiscard]] OtSession::Digest place() const { return session_.derived("place", position()); }

 private:
  void hash(const TileQueue::Run& run, std::uint64_t purpose, ReceiverBatch& out) const;
  [[nodiscard]] CipherKeys hash_key(const TileQueue::Run& run) const;
  [[nodiscard]] ReceiverPiece piece_of(const CipherKeys& key, const TileQueue::Run& run, std::size_t done);
  static void copy_choices(const TileQueue::Run& run, SecretVector<std::uint64_t>& to);
  void clear_piece();

  OtSession session_;
  const Kernels* kernels_;
  SecretBlocks piece_;
  ReceiverTiles tiles_;
  std::uint64_t next_tile_ = 0;
  TileQueue queue_;
};

}  // namespace blindfl::ot
