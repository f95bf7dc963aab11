#pragma once

#include <cstdint>
#include <vector>

#include "blindfl/share/share_matrix.h"
#include "he/paillier/masked_view.h"
#include "testing/uniformity.h"

// What a party sees, next to the secrets inside it: for tests of the contract in docs/protocols.md.

namespace blindfl::protocol {

/// Elements of the ring that a party opened or holds.
struct RingView {
  std::vector<UInt128> seen;
  std::vector<UInt128> secret;
  int ring_bits = ShareMatrix::kMostRingBits;

  /// All in one ring, which secrets are taken in.
  void add(const ShareMatrix& what_it_sees, const ShareMatrix& what_is_secret) {
    ring_bits = what_it_sees.ring_bits();
    seen.insert(seen.end(), what_it_sees.values().begin(), what_it_sees.values().end());
    for (const UInt128 v : what_is_secret.values()) secret.push_back(low_bits(v, ring_bits));
  }

  /// What is left without the secret.
  [[nodiscard]] std::vector<UInt128> rest() const {
    std::vector<UInt128> rest(seen.size());
    for (std::size_t i = 0; i < seen.size(); ++i) rest[i] = low_bits(seen[i] - secret[i], ring_bits);
    return rest;
  }
  /// Uniform, and independent of the secret: subtracting it leaves something uniform too.
  [[nodiscard]] bool hides_the_secret() const {
    return testing::looks_uniform<UInt128>(seen, ring_bits) && testing::looks_uniform<UInt128>(rest(), ring_bits);
  }
  /// The same of the lowest bits alone.
  [[nodiscard]] bool hides_the_secret_below_bit(int bits) const {
    const auto uniform = [&](std::vector<UInt128> values) {
      for (UInt128& v : values) v = low_bits(v, bits);
      return testing::looks_uniform<UInt128>(values, bits);
    };
    return uniform(seen) && uniform(rest());
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

/// Integers behind masks that a party opened: Paillier's.
using he::paillier::testing::MaskedView;

}  // namespace blindfl::protocol
