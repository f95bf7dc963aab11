#pragma once

#include <cstdint>
#include <span>

#include "blindfl/base/random.h"
#include "blindfl/he/lattice/kernels.h"

// No branch and no table index depends on what is drawn, but for the rejection of public values. `words` is memory for
// the random bytes, as many numbers as are drawn; numbers are drawn in multiples of kPackedBlock.

namespace blindfl::he::lattice {

/// Uniform residues: the public half of keys and ciphertexts, which both parties expand from the same seed. Defined
/// exactly: the stream's next bytes are the residues packed as on the wire; then, for each that is not below q, in
/// order, further 64-bit words, of which the low `bits` count, until one is.
/// Residues are written to `out` in groups of 64, `stride` apart.
void sample_uniform(const Kernels& kernels, KeyStream& stream, const Modulus& modulus, std::uint64_t* out,
                    std::size_t stride, std::span<std::uint64_t> words);

/// -1, 0, 1 with equal chance: secrets.
void sample_ternary(const Kernels& kernels, Random& random, std::span<std::int64_t> out,
                    std::span<std::uint64_t> words);

/// Centred binomial: 42 coins, minus 21.
void sample_error(const Kernels& kernels, Random& random, std::span<std::int64_t> out, std::span<std::uint64_t> words);

}  // namespace blindfl::he::lattice
