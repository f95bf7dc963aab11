#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "blindfl/protocol/session/beside.h"
#include "blindfl/protocol/session/party_cost.h"
#include "blindfl/share/share_matrix.h"

// From shares modulo 2^k to shares modulo a larger power of 2, of secrets that leave two bits of their ring free:
// exactly, by one random OT a value. docs/protocols.md, "Products of shared matrices".
//
//   both: choices  <--- cross --->  for half of the values each: one bit a value
//   both: words    <--- cross --->  for the other half: (to - k) bits a value, in whole bytes
//
// With u and v the shares of s + 2^(k-2), which is at least 0 and below 2^(k-1): u + v = s + 2^(k-2) + w 2^k. Let m and
// n be their top bits. If both are 0, u + v < 2^k and w = 0; if one or both are 1, u + v >= 2^(k-1), which the secret
// is not, so that w = 1. Hence w = m + n - m n, and m n is the only product.

namespace blindfl::protocol {

/// Bits of a ring that a secret of so many bits, read as a magnitude, leaves free: a sign, and one more.
constexpr int kRoomOfLifts = 2;

/// So many values, shared modulo 2^from, that get shares modulo 2^to.
struct RoomLift {
  std::size_t values = 0;
  int from = 0;
  int to = ShareMatrix::kMostRingBits;
};

/// One matrix to be lifted, and the ring that it goes to.
struct LiftedShare {
  const ShareMatrix& share;
  int to = ShareMatrix::kMostRingBits;
};

/// This party's shares, modulo 2^to, of what `shares` hide modulo 2^k: exactly, for every secret s with
/// -2^(k-2) <= s < 2^(k-2); what is beyond may come out off by 2^k. All matrices travel in the same messages. `layer`
/// is what both parties know these by; what is beside travels with the choices.
/// Cost: `room_lift_cost`. Reveals: nothing: what a party receives is uniformly random.
/// Throws InvalidArgument, before anything is sent, for no values, a ring of fewer than 2 bits or one that is not
/// narrower than `to`; ProtocolError if the peer's random OTs are others, before anything is opened.
[[nodiscard]] std::vector<ShareMatrix> lift_with_room(Session& session, std::uint32_t layer,
                                                      std::span<const LiftedShare> shares, const Beside& beside = {});
[[nodiscard]] ShareMatrix lift_with_room(Session& session, std::uint32_t layer, const ShareMatrix& share,
                                         int to = ShareMatrix::kMostRingBits);

[[nodiscard]] PartyCost room_lift_cost(std::span<const RoomLift> lifts);
[[nodiscard]] inline PartyCost room_lift_cost(const RoomLift& lift) {
  return room_lift_cost(std::span(&lift, 1));
}

}  // namespace blindfl::protocol
