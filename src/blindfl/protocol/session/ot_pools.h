#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/ot/pool.h"
#include "blindfl/protocol/session/session.h"

// Random OTs of a session, both ways: each party has a pool that it sends with, and one that it receives with.
//
//   both: base points, base point    <--- cross --->    docs/formats.md, "Oblivious transfer"
//   both: trees                      <--- cross --->    afterwards there are pools, empty
//   both: tiles                      <--- cross --->    2048 more for each, whenever `reserve` finds too few
//
// Everything is bound to the session's id, which both parties' nonces make. A pool is never saved, and its places never
// come back: a run that is resumed has a new session, and new pools with it.

namespace blindfl::protocol {

/// Random OTs that this party sends, and receives. The peer has the two exchanged.
struct OtCount {
  std::uint64_t sending = 0;
  std::uint64_t receiving = 0;

  friend OtCount operator+(const OtCount& a, const OtCount& b) {
    return {a.sending + b.sending, a.receiving + b.receiving};
  }
};

/// Owned by its session: `Session::ots()`.
class OtPools {
 public:
  /// Of the trees of the extension (ot/session.h): 3.9 bytes for each OT.
  static constexpr int kTreeDepth = 4;
  /// Tiles that a waiting party makes ahead, at most: 10.5 MB.
  static constexpr std::size_t kMostAhead = 256;

  /// Sets up with the peer, who does the same. Cost: two messages each way, 12.4 KB, and some 50 ms.
  /// Throws ProtocolError if what the peer sends is not that, or of another session.
  OtPools(Session& session, const std::array<std::byte, 32>& id);
  OtPools(const OtPools&) = delete;
  OtPools& operator=(const OtPools&) = delete;
  ~OtPools() = default;

  /// Sees to it that so many are ready, with whole tiles from the peer if they are not. Both parties call it at the
  /// same point, long before they need them if they can: what arrives is worked on while this party waits. Cost: a
  /// message each way, both at the same time, of `tile_bytes()` for each tile that is missing; none if nothing is.
  /// Throws ProtocolError if the peer is at another place, before anything changes.
  void reserve(const OtCount& count);
  [[nodiscard]] static std::uint64_t tile_bytes();
  /// That each party sends to set up.
  [[nodiscard]] static std::uint64_t setup_bytes();

  /// To take from, in the same order at both parties, no more than was reserved.
  [[nodiscard]] ot::RandomOtSender& sender();
  [[nodiscard]] ot::RandomOtReceiver& receiver() { return pools_.receiver; }

  /// What `reserve` counts.
  [[nodiscard]] OtCount ready() const;

  /// A tile's worth of work that needs no message: of tiles that arrived, or of those that this party will send next.
  /// Returns false if there is none.
  bool prepare();

 private:
  struct Pools {
    ot::RandomOtSender sender;
    ot::RandomOtReceiver receiver;
  };
  [[nodiscard]] static Pools set_up(Session& session, const std::array<std::byte, 32>& id);
  void take_in(Bytes tile);
  [[nodiscard]] std::vector<Bytes> next_tiles(std::size_t tiles);

  Session& session_;
  Pools pools_;
  std::deque<Bytes> arrived_;  // a tile each, not yet in the pool
  std::deque<Bytes> ahead_;    // in the receiver's pool, and not yet sent
  std::size_t wanted_ahead_ = 0;
  std::uint64_t sent_tiles_ = 0;
  std::uint64_t received_tiles_ = 0;
};

}  // namespace blindfl::protocol
