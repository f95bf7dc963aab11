#pragma once

#include <cstddef>
#include <cstdint>

#include "blindfl/mpc/party_cost.h"
#include "blindfl/share/share_matrix.h"

namespace blindfl::mpc {

/// This party's share of the largest value of each row, a column: neighbours are compared, and the larger selected,
/// until one is left. `x` hides values of `bits` bits, sign included, modulo 2^64 or 2^128; their differences take one
/// more.
/// The lowest `dropped` bits of differences are not compared: what comes out is a value of the row all the same, and
/// less than 2^dropped units below the largest for each time that columns are halved.
/// Cost: `maximum_cost`. Reveals: nothing, also not which column it was. Never wrong, if no bits are dropped. Throws as
/// `compare` does.
[[nodiscard]] ShareMatrix maximum(Session& session, std::uint32_t layer, const ShareMatrix& x, int bits,
                                  int dropped = 0);
[[nodiscard]] PartyCost maximum_cost(std::size_t rows, std::size_t cols, int bits,
                                     int ring_bits = ShareMatrix::kMostRingBits, int dropped = 0);

}  // namespace blindfl::mpc
