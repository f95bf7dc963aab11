#pragma once

#include <cstddef>
#include <cstdint>

#include "blindfl/mpc/bit_shares.h"
#include "blindfl/mpc/party_cost.h"
#include "blindfl/share/share_matrix.h"

namespace blindfl::mpc {

/// This party's shares of 1 for values that are not negative and 0 for others, row by row: comparison.h, between the
/// parties of a session. `x` hides numbers that fit in `bits` bits, sign included; both parties call it with the same
/// sizes, and the `layer` that they know the messages by.
/// The lowest `dropped` bits of both shares are left out: locally, so that a number from 0 to 2^dropped - 1 may count
/// as negative, and one that is less than 2^dropped above the smallest that fits as not negative. With none it is never
/// wrong. Cost: `compare_cost` of `bits` - `dropped` bits. Reveals: nothing. Throws
/// InvalidArgument for more than 64 bits, a narrower ring, no bits left or no values; ProtocolError if the peer's
/// random OTs are others, before anything is opened.
[[nodiscard]] BitShares compare(Session& session, std::uint32_t layer, const ShareMatrix& x, int bits, int dropped = 0);
[[nodiscard]] PartyCost compare_cost(std::size_t values, int bits);

}  // namespace blindfl::mpc
