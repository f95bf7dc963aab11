#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/base/secret.h"
#include "blindfl/protocol/align/alignment.h"
#include "blindfl/protocol/align/psi.h"
#include "blindfl/protocol/session/sessions.h"

// Which rows of B and of several A's are about the same people: the ids that all of them have, and of no two parties
// which ids they have in common beside these. Each A has a link to B alone. h hashes an id to a point, b is B's secret
// number, a that of one of the A's:
//
//   A, one of several, with ids x                    B, with ids y
//   a random number                 --110-->
//                                   <--110--         those of all A's
//   for each x a number z(x), which all A's make of the secrets that pairs of them share,
//   its own at each, 0 in sum; a table that gives
//   z(x) for h(x) a, and any other number
//   for any other point             --111-->
//                                   <--31--          h(y) b, shuffled: the same to all A's
//   h(y) b a, as received           --112-->         h(y) a, its place in the table
//   which y have the sum 0 over all A's: the ids of all; in a new random order
//   own ids: the order of rows      <--113, 114--    what stands for h(y) a of these
//   for each other A a digest of the order,
//   under a key of these two        --115-->
//                                   <--115--         those that are for this A
//
// What each party learns:
//
//              an A                                  B
//   sizes      how many ids B has                    how many ids each A has
//   ids        which of its own all parties have     which of its own all parties have
//
// B sees a number of each A for each of its own ids. Where an A lacks the id it is random; where it has it, it is that
// A's part of a sum of which another A's part is missing, unless all have the id: random as well. No A sees anything of
// another A's. So nobody learns which ids two parties have in common, nor how many. This is for parties that follow the
// protocol, under the decisional Diffie-Hellman assumption with the hashes as random oracles. Where B and some of the
// A's put together what they know, they learn which of B's ids all the other A's have: what they would learn, too, if
// those A's had listed all of B's ids. docs/protocols.md, "Alignment of several".

namespace blindfl::protocol {

/// 32 bytes that two A's share and nobody else knows, the other A's and B included. It may serve any number of
/// alignments: fresh random numbers of all A's are mixed in.
using PairSecret = SecretVector<std::byte>;
constexpr std::size_t kPairSecretBytes = 32;

/// The A's of an alignment: the same list in the same order at all parties, at B that of its sessions.
struct AlignedPeers {
  std::vector<std::string> names = {};   ///< what errors call them
  std::size_t own = 0;                   ///< at an A: its place among them
  std::vector<PairSecret> secrets = {};  ///< at an A: with each of them, its own empty; at B none
};

/// Why an alignment of that kind is refused where there are several A's; empty if it is not.
[[nodiscard]] std::string_view reason_against_several(AlignmentKind kind);

/// This party's rows in an order that all end with; `ids[i]` is that of row i, any bytes. The order is random, and a
/// fresh one each time. With one A it is `align`, message for message.
///
/// `options.check_peer_ids` is called for each peer; `options.observer` in one call at a time, at B from the threads
/// that it has for each peer.
///
/// Cost, with several A's: on each link, for each of B's ids 32 bytes each way, for each of A's 26 to B (more for less
/// than a thousand), for each common one 16 to A; at an A 0.06 ms of computing for each of its own ids and of B's, at B
/// 0.06 ms for each of its own and for each A. Reveals: what the table above says, and nothing else. Throws as `align`
/// does, with the peer's name in front at B; ConfigError if `options.kind` is not `kBoth`; InvalidArgument if `peers`
/// does not fit `sessions`. Where one party fails, B closes the links to all.
[[nodiscard]] Alignment align_all(const Sessions& sessions, std::span<const std::string> ids, const AlignedPeers& peers,
                                  const AlignmentOptions& options = {});

}  // namespace blindfl::protocol
