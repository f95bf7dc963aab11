#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "blindfl/mpc/bit_shares.h"
#include "blindfl/mpc/party_cost.h"
#include "blindfl/share/share_matrix.h"

// How many rows a model gets right, of scores and a count that stay shared. A row's margin says which class the model
// takes: for two classes it is the score, not negative for class 1; for more it is the score of the row's own class
// less the largest that was found, which is negative where that is another class by more than the search left out.

namespace blindfl::mpc {

/// This party's share of each row's score of its own class, a column in the ring of `scores`. B has a class for each
/// row, below the number of columns; `classes` is empty at A. `layer` is what both parties know the messages by.
/// A's shares are multiplied with B's choice, one bit for each score: row_factors.h.
/// Cost: `own_scores_cost`. Reveals: nothing. Exact. Throws InvalidArgument for other classes, or no scores;
/// ProtocolError if the peer's random OTs are others, before anything is opened.
[[nodiscard]] ShareMatrix own_scores(Session& session, std::uint32_t layer, const ShareMatrix& scores,
                                     std::span<const double> classes);
[[nodiscard]] PartyCost own_scores_cost(std::size_t rows, std::size_t cols);

/// This party's share of how many rows are right, 1 x 1 at scale 0 modulo 2^64: those whose margin is not negative, or,
/// where `turned` (one party's bit XOR the other's) is 1, negative. `margins` hides values of `bits` bits, sign
/// included. Whether a row is right stays shared: a comparison, then bits to numbers (bit_to_ring.h), which are added
/// up. Cost: `count_right_cost`. Reveals: nothing. Never wrong. Throws as `compare` does.
[[nodiscard]] ShareMatrix count_right(Session& session, std::uint32_t layer, const ShareMatrix& margins,
                                      const BitShares& turned, int bits);
[[nodiscard]] PartyCost count_right_cost(std::size_t rows, int bits);

}  // namespace blindfl::mpc
