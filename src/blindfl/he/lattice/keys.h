#pragma once

#include <array>
#include <cstdint>

#include "blindfl/base/aligned.h"
#include "blindfl/base/bytes.h"
#include "blindfl/base/random.h"
#include "blindfl/he/lattice/kernels.h"
#include "blindfl/he/lattice/params.h"
#include "blindfl/he/scheme.h"

namespace blindfl::he::lattice {

using Seed = std::array<std::byte, KeyStream::kKeyBytes>;
using KeyId = std::array<std::byte, 16>;

/// Residues of polynomials: modulus after modulus, `degree` values each.
using Residues = AlignedVector<std::uint64_t>;
using SecretResidues = AlignedSecret<std::uint64_t>;

/// What the peer knows: (b, a) with b = -(a s) + e, transformed. `a` comes from both parties' coin: a key's owner that
/// chose it alone, as 0, would read the private matrix from replies; and it is fresh for each key, because one
/// reduction of the lattice that it spans would serve for all replies.
struct PublicKey {
  /// The digest of parameters and coin (16), b packed, modulus after modulus.
  static std::uint64_t bytes(const Params& params);
  /// Throws ProtocolError if the bytes are not a key of these parameters and this coin.
  PublicKey(const Params& params, const Kernels& kernels, const Coin& coin, ByteView bytes);

  KeyId id;
  Residues b;
  Residues a;
};

/// The key owner's secret, transformed; cleared when freed.
struct SecretKey {
  SecretKey(const Params& params, const Kernels& kernels, const Coin& coin, Random& random);

  KeyId id;
  Bytes public_key;
  SecretResidues s;        ///< in Montgomery form, for encryption
  SecretResidues s_reply;  ///< times 1 / (q / q_l), for opening a reply
};

/// Digest of the parameters and the coin, the first bytes of a public key: an owner that has others says so.
[[nodiscard]] KeyId setup_id(const Params& params, const Coin& coin);

/// Reads a packed polynomial modulo one prime, groups of 64 values `stride` apart.
/// Throws ProtocolError, naming `what`, if a value is not below the prime.
void unpack_residues(const Params& params, std::size_t modulus, const Kernels& kernels, const std::uint64_t* words,
                     std::uint64_t* out, std::size_t stride, const char* what);

}  // namespace blindfl::he::lattice
