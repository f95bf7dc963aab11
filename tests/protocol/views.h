#pragma once

#include <cstdint>
#include <vector>

#include "blindfl/he/paillier/masked_reply.h"
#include "blindfl/share/share_matrix.h"
#include "testing/uniformity.h"

// What a party sees, next to the secrets inside it: for tests of the contract in docs/protocols.md.

namespace blindfl::protocol {

/// Elements of the ring that a party opened or holds.
struct RingView {
  std::vector<UInt128> seen;
  std::vector<UInt128> secret;

  void add(const ShareMatrix& what_it_sees, const ShareMatrix& what_is_secret) {
    seen.insert(seen.end(), what_it_sees.values().begin(), what_it_sees.values().end());
    secret.insert(secret.end(), what_is_secret.values().begin(), what_is_secret.values().end());
  }

  /// What is left without the secret.
  [[nodiscard]] std::vector<UInt128> rest() const {
    std::vector<UInt128> rest(seen.size());
    for (std::size_t i = 0; i < seen.size(); ++i) rest[i] = seen[i] - secret[i];
    return rest;
  }
  /// Uniform, and independent of the secret: subtracting it leaves something uniform too.
  [[nodiscard]] bool hides_the_secret() const {
    return testing::looks_uniform<UInt128>(seen) && testing::looks_uniform<UInt128>(rest());
  }
  /// A rescaled share is uniform but for its top bits, which repeat the sign: looks at the 64 bits from `first` on.
  [[nodiscard]] bool hides_the_secret_from_bit(int first) const {
    const auto uniform = [&](const std::vector<UInt128>& values) {
      std::vector<std::uint64_t> bits;
      bits.reserve(values.size());
      for (const UInt128 v : values) bits.push_back(low64(v >> first));
      return testing::looks_uniform<std::uint64_t>(bits);
    };
    return uniform(seen) && uniform(rest());
  }
};

/// Integers behind masks that a party opened: Paillier's, where no ring makes masks uniform by itself.
struct MaskedView {
  int mask_bits = 0;
  he::paillier::Integers seen{};
  he::paillier::Integers secret{};

  /// Uniform below 2^mask_bits, and independent of the secret: subtracting it leaves something uniform too.
  [[nodiscard]] bool hides_the_secret() const {
    he::paillier::Integers rest;
    for (std::size_t i = 0; i < seen.size(); ++i) rest.push_back(seen[i] - secret[i]);
    return look_uniform(seen) && look_uniform(rest);
  }

 private:
  [[nodiscard]] bool look_uniform(const he::paillier::Integers& values) const {
    for (const int from : {0, mask_bits - 64}) {
      std::vector<std::uint64_t> bits;
      for (const he::paillier::BigInt& v : values) {
        he::paillier::BigInt shifted;
        mpz_fdiv_q_2exp(shifted, v, static_cast<mp_bitcnt_t>(from));
        bits.push_back(low64(he::paillier::low128(shifted)));
      }
      if (!testing::looks_uniform<std::uint64_t>(bits)) return false;
    }
    return true;
  }
};

}  // namespace blindfl::protocol
