#pragma once

#include <cstdint>

#include "blindfl/he/lattice/params.h"
#include "blindfl/he/lattice/tiles.h"

// What the shares of a product carry beside the result, and what hides it. docs/protocols.md, "Hiding", derives it.
//
// The shares add up to `X M + (2^t / q) (nu + rho s)` and noise, where
//
//   nu    X (e + d) + u e_pk + e1 s: errors e of the operand with its rounding d, of the public key, of the reply
//   rho   what was cut off the reply: uniform, `cut` bits
//   noise of either party, added to its share before it is rounded: a sum of four uniform words of `noise_word` bits
//
// Decisions are made in whole bits, by integer arithmetic alone: both parties must come to the same.

namespace blindfl::he::lattice {

/// How much of what is to be hidden, and behind how much: of one plan.
struct NoiseBudget {
  int noise_word = 0;  ///< J: each of the four words is uniform below 2^noise_word units of the result
  int cut = 0;         ///< bits that are cut off a reply: of its lowest digit, or all of that and some of the next
  /// log2 of the divergence of the whole run, rounded up: of the multiplier's secrets from the key's owner, and of the
  /// owner's from the multiplier.
  int multiplier_divergence = 0;
  int owner_divergence = 0;
};

/// Whether a set of parameters and a tiling hide the run as they should, and how: fills in `budget`.
[[nodiscard]] bool find_budget(const Params& params, const Tiling& tiling, const ProductSpec& spec,
                               NoiseBudget& budget);

/// The standard deviations of what is hidden, in units of the result: `nu`, with every left value as large as it can
/// be, and of the rounding of the operand as large as it can be; and what is cut off times the secret.
[[nodiscard]] double nu_deviation(const Params& params, const Tiling& tiling, const ProductSpec& spec);
[[nodiscard]] double cut_deviation(const Params& params, const ProductSpec& spec, int cut);
/// Of one party's noise.
[[nodiscard]] double noise_deviation(int noise_word);
/// The Kullback-Leibler divergence, in nats, between noise and the same shifted by something of standard deviation
/// `shift`.
[[nodiscard]] double divergence(double shift, int noise_word);

/// No two shares are further off than this many units of the result.
[[nodiscard]] double largest_error(const Params& params, const Tiling& tiling, const ProductSpec& spec,
                                   const NoiseBudget& budget);

}  // namespace blindfl::he::lattice
