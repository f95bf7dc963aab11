#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "blindfl/protocol/align/alignment.h"

// Which rows of the two parties are about the same people, without an id leaving in the clear: private set intersection
// by elliptic curve Diffie-Hellman. A's secret number is a, B's is b, h hashes an id to a point:
//
//   A, with ids x                                  B, with ids y
//   h(x) a, shuffled              --31-->
//                                 <--31--          h(y) b, shuffled
//   h(y) b a, as received         --32-->
//                                 <--32--          h(x) a b, as received
//   which x are among the y: h(x) a b = h(y) b a   the same
//
// What each party learns, besides how many ids the other has:
//
//              A                                   B
//   kBoth      which of its ids B has too          which of its ids A has too
//   kOnlyB     nothing                             which of its ids A has too
//   kUnion     how many ids both have              how many ids both have
//
// Under kOnlyB, B does not send message 32: A has nothing to compare with. kUnion is in psi_union.h. All of it is for
// parties that follow the protocol, under the decisional Diffie-Hellman assumption with the hash as a random oracle.
// Whoever lists an id takes part with it: a party that lists ids it only guessed learns, as it would for its own,
// whether the other has them. docs/protocols.md, "Alignment".

namespace blindfl::protocol {

class Session;

/// Who learns what; see above.
enum class AlignmentKind {
  kBoth,   ///< the rows are those that both parties have
  kOnlyB,  ///< the rows are all of A's; where B has none, another of B's is the placeholder: only B's `real` says so
  kUnion,  ///< the rows are all that either has; where a party has none, another of its own is the placeholder
};

/// "both", "only B" or "union".
[[nodiscard]] std::string_view name_of(AlignmentKind kind);

struct AlignmentOptions {
  AlignmentKind kind = AlignmentKind::kBoth;
  /// Ids in one message, and in one step of progress: bounds memory. The same at both parties.
  std::size_t ids_per_message = 16384;
  AlignmentObserver observer = {};
  /// Told how many ids the peer has, before anything is computed or allocated for them; throws if that is too many.
  std::function<void(std::uint64_t peer_ids)> check_peer_ids = {};
};

/// A party's ids, and those that a peer may announce: 2 GiB of points.
constexpr std::uint64_t kMostIds = std::uint64_t{1} << 26;

/// This party's rows in an order that both end with; `ids[i]` is that of row i, any bytes. The order is random, and a
/// fresh one each time.
///
/// Cost: for each id of either party 32 bytes each way and, at each party, about 0.06 ms of computing; a union takes up
/// to 2.5 times the bytes and 3.5 times the computing. Reveals: what the table above says, and nothing else. Throws
/// DataError, before anything is sent, if an id occurs twice; DataError at both if `kind` needs placeholders and
/// a party has no ids; ConfigError if the parties want different kinds; what `check_peer_ids` throws; ProtocolError if
/// the peer sends what is not points, or points that do not belong together.
[[nodiscard]] Alignment align(Session& session, std::span<const std::string> ids, const AlignmentOptions& options = {});

}  // namespace blindfl::protocol
