#pragma once

#include <memory>
#include <string>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/protocol/session/identity.h"
#include "blindfl/protocol/session/sessions.h"

// With several A's, B is to see their sum alone: Z = sum over i of Z'_i. The A's therefore agree, pair by pair, on
// masks that add up to 0, and add them to their shares before B opens them (open_output). They have no links to each
// other: B relays what they say, three short messages each way.
//
//   offer     name, run and where it began, fresh nonce and X25519 key   B sends all of them to all
//             of each A
//   proof     a signature of all offers together and of B's              B sends all of them to all
//             certificate, by the TLS identity
//   verdict   whether this A accepts those of all others                 B sends all of them to all
//
// A pair's key is made from both X25519 keys and all offers, so that it is of this run, of these sessions and of these
// names; the masks come from it by a count of outputs, which stands for step and layer (OutputMasks).
// docs/protocols.md, "Several".

namespace blindfl::protocol {

/// Another A, as an A knows it.
struct PinnedPeer {
  std::string name;
  std::string certificate;  ///< PEM
};

/// An A, in the words of its owner.
struct MaskParty {
  std::string run{};  ///< what is computed together: 1 to 64 printable characters, the same at all parties
  /// What the first agreement for that run returned, if this is not it: B chose the run's name, and could give two runs
  /// the same; these 32 bytes follow from the random numbers of all A's.
  Bytes began{};
  std::string name{};  ///< as B and the other A's call it: the same
  std::shared_ptr<const Identity> identity{};
  std::string b{};                   ///< B's certificate, PEM: what is signed for it is of no use to another
  std::vector<PinnedPeer> others{};  ///< all others, in any order
  /// Names of all A's as B has numbered them to this party before; empty: it has not, and may do it here.
  std::vector<std::string> order{};
};

/// At an A: takes its place among those of B, and agrees on masks with the others; all call it at the same time. From
/// then on the session's outputs are opened under them. Called again, all keys are new. Without others, nothing
/// happens. Cost: 232, 524 and 8 bytes to B, 3,716, 8,912 and 140 from it. Reveals: to B and the other A's name, run
/// and certificate's signature. Throws InvalidArgument, before anything is sent, if `me` cannot be; ConfigError, at all
/// parties, naming which refuses which and why: another certificate than the pinned one, a forged or replayed message,
/// one that was signed for another B, another run, a name that is not expected or that two have; ProtocolError if what
/// B sends is none of these messages, or it numbers the A's otherwise than it did. Returns what all parties know this
/// agreement by, and no other: for `MaskParty::began`; without others, nothing.
Bytes agree_on_masks(Session& session, const MaskParty& me);

/// At B, with the names of the A's in the order of the sessions, and `began` as A's have it.
/// Throws as above; InvalidArgument if there is not a name for each session, or there are more than kMostPeers.
Bytes agree_on_masks(const Sessions& sessions, const std::string& run, const std::vector<std::string>& names,
                     const Bytes& began = {});

}  // namespace blindfl::protocol
