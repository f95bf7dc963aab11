#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "blindfl/mpc/party_cost.h"
#include "blindfl/share/share_matrix.h"

namespace blindfl::mpc {

/// Fractional bits of a row's weight: what is below is rounded off.
constexpr int kRowWeightScale = 16;
/// Of weights below `protocol::kRowWeightLimit`.
constexpr int kRowWeightBits = 4 + kRowWeightScale;

/// This party's share of each row times its weight, at the scale of `share`, which is modulo 2^128: B has a weight for
/// each row, from 0 to below `protocol::kRowWeightLimit`, and multiplies its own share; A's takes a product with B's
/// factors (row_factors.h). `weights` is empty at A. `layer` is what both parties know the messages by.
/// Cost: `weighted_cost`. Reveals: nothing. Exact but for the rounding of weights and of one bit of the result.
/// Throws InvalidArgument for a narrower ring, or other weights; ProtocolError if the peer's random OTs are others,
/// before anything is opened.
[[nodiscard]] ShareMatrix weighted(Session& session, std::uint32_t layer, const ShareMatrix& share,
                                   std::span<const double> weights);
[[nodiscard]] PartyCost weighted_cost(std::size_t values);
/// The chance that any of so many products, below `largest` at that scale, is rounded wrongly: shares fill their ring.
[[nodiscard]] double weighted_failure(std::size_t values, double largest, int scale);

}  // namespace blindfl::mpc
