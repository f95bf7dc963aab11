#pragma once

#include <cstdint>
#include <span>

#include "blindfl/base/random.h"
#include "blindfl/he/lattice/modulus.h"

// No branch and no table index depends on what is drawn, but for the rejection of public values.

namespace blindfl::he::lattice {

/// Uniform residues: the public half of keys and ciphertexts, which both parties expand from the same seed. Defined
/// exactly: 64-bit little-endian words, the low `bits` of each; then, for each that is not below q, in order, further
/// words until one is.
void sample_uniform(KeyStream& stream, const Modulus& modulus, std::span<std::uint64_t> out);

/// -1, 0, 1 with equal chance: secrets.
void sample_ternary(Random& random, std::span<std::int64_t> out);

/// Centred binomial: the difference of two sums of 21 coins.
void sample_error(Random& random, std::span<std::int64_t> out);

/// Small signed numbers as residues.
void lift(std::span<const std::int64_t> small, const Modulus& modulus, std::span<std::uint64_t> out);

}  // namespace blindfl::he::lattice
