#pragma once

#include <cstddef>
#include <cstdint>

#include "blindfl/mpc/party_cost.h"
#include "blindfl/share/share_matrix.h"

namespace blindfl::mpc {

/// A ring that shares can be lifted from by comparison has at most this many bits.
constexpr int kMostLiftedRing = 62;

/// This party's share, in the ring of 2^128, of what `share` hides in a narrower one. Whether the two shares add up to
/// 2^ring_bits or more is compared, and that bit becomes a number (bit_to_ring.h): unlike `lifted`, it never fails,
/// whatever the secret is; unlike pieces (share/integer_pieces.h), which take a ring of 2^64, it takes no room.
/// `layer` is what both parties know the messages by. Cost: `lift_cost`. Reveals: nothing.
/// Throws InvalidArgument for a ring of more than 62 bits or no values; ProtocolError if the peer's random OTs are
/// others, before anything is opened.
[[nodiscard]] ShareMatrix lift_by_comparison(Session& session, std::uint32_t layer, const ShareMatrix& share);
[[nodiscard]] PartyCost lift_cost(std::size_t values, int ring_bits);

}  // namespace blindfl::mpc
