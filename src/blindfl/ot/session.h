#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "blindfl/base/bytes.h"
#include "blindfl/base/party.h"

// What one direction of oblivious transfer between two parties is bound to.
//
// Every hash, every key of a hash and every header below is made with the digest of a session: its id, who sends, and
// the parameters. So nothing that was computed, precomputed or recorded for one session, direction or set of parameters
// is of use in another (fixed-key ciphers lose bits when they serve many: Guo, Katz, Wang, Weng and Yu 2020), and a
// message that strays is refused before it is used.

namespace blindfl::ot {

/// Random OTs are made in whole tiles: a bit matrix of 128 rows and 2048 columns, 32 KB, which fits a cache.
constexpr std::size_t kTileOts = 2048;
constexpr std::size_t kRowBytes = kTileOts / 8;
/// Bits of the sender's secret, rows of a tile, and base OTs.
constexpr std::size_t kBaseOts = 128;

/// What the parties agreed on.
struct OtSpec {
  /// A digest of both parties' nonces, their names and what else they agreed on. Never the same twice. Not a secret.
  std::array<std::byte, 32> id{};
  /// Who has two pads for each OT; the other party has one of them, and nobody else knows which.
  Party sender = Party::kA;
  /// 2, 4 or 8. Each step halves the bytes: 7.9, 3.9, 1.9 for each OT; the ciphers' work is 2, 4, 32 blocks.
  int tree_depth = 4;
};

/// Which message it is.
enum class OtStep : std::uint32_t { kSenderHello = 1, kReceiverHello = 2, kTrees = 3, kExtension = 4 };
/// "base points" and the like, for errors.
[[nodiscard]] std::string_view name_of(OtStep step);

/// An `OtSpec` that passed its checks, and all that is derived from it.
class OtSession {
 public:
  static constexpr std::size_t kHeaderBytes = 32;
  using Digest = std::array<std::byte, 32>;

  /// Throws InvalidArgument for another depth than 2, 4 or 8.
  explicit OtSession(const OtSpec& spec);

  [[nodiscard]] int tree_depth() const { return tree_depth_; }
  [[nodiscard]] std::size_t trees() const { return kBaseOts / static_cast<std::size_t>(tree_depth_); }
  [[nodiscard]] std::size_t leaves_per_tree() const { return std::size_t{1} << tree_depth_; }

  /// 32 bytes that depend on the session, the purpose and the number. Anybody who knows the id can compute them.
  [[nodiscard]] Digest derived(std::string_view purpose, std::uint64_t number) const;
  /// The session itself, for hashes of secrets, which begin with it.
  [[nodiscard]] const Digest& digest() const { return digest_; }

  /// A header: 16 bytes that name the session, step (4 bytes), how many tiles follow (4), number of the first (8).
  void write_header(ByteSink& out, OtStep step, std::uint64_t first_tile, std::size_t tiles) const;
  /// Throws ProtocolError unless `message` is exactly this header and `body_bytes` more; returns these.
  [[nodiscard]] ByteView checked_body(ByteView message, OtStep step, std::uint64_t first_tile, std::size_t tiles,
                                      std::size_t body_bytes) const;

 private:
  int tree_depth_;
  Digest digest_{};
  Digest name_{};
};

}  // namespace blindfl::ot
