#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "blindfl/he/lattice/modulus.h"

namespace blindfl::he::lattice {

/// What a user may ask for.
struct ParamsSpec {
  std::size_t degree = 8192;
  /// Bits of the primes whose product is the ciphertext modulus q.
  std::vector<int> prime_bits{48, 48, 48, 35, 35};
  /// How many of the last primes are dropped from what is sent back.
  std::size_t dropped_primes = 2;
};

/// Parameters that passed every check. The plaintext modulus is 2^128.
class Params {
 public:
  /// Fractions of a ciphertext's coefficient are sent back with this many bits: 8 more than a plaintext has.
  static constexpr int kReplyBits = 136;
  /// Flooding is uniform in [-2^-kFloodExponent, 2^-kFloodExponent) of the ciphertext modulus.
  static constexpr int kFloodExponent = 130;
  /// Errors are centred binomial with 2 * 21 coins: standard deviation 3.24, never beyond 21.
  static constexpr int kErrorBound = 21;

  /// Throws InvalidArgument if a prime cannot be had, if the primes kept in a reply are too few for a correct
  /// decryption, or if the product of the primes is beyond what 128-bit security allows for the degree.
  explicit Params(const ParamsSpec& spec);

  [[nodiscard]] std::size_t degree() const { return degree_; }
  [[nodiscard]] const std::vector<Modulus>& moduli() const { return moduli_; }
  /// Primes that a reply keeps: the first ones.
  [[nodiscard]] std::size_t kept() const { return kept_; }
  /// log2 of the ciphertext modulus, rounded up: what security depends on.
  [[nodiscard]] int log_q() const { return log_q_; }
  /// 1 / (the product of the other ones among the first `count` primes) modulo prime `l`: what turns residues into
  /// fractions.
  [[nodiscard]] std::uint64_t one_over_others(std::size_t l, std::size_t count) const;
  /// Everything both parties must agree on, as text.
  [[nodiscard]] std::string describe() const;

  /// The largest log2 q that gives 128-bit security (classical, ternary secret) at a degree, after the guidelines of
  /// eprint 2024/463; 0 for a degree that is not offered.
  [[nodiscard]] static int largest_log_q(std::size_t degree);

 private:
  // Only tests may go below the floor: they define this.
  friend struct InsecureParams;
  enum class Floor { kEnforced, kIgnored };
  Params(const ParamsSpec& spec, Floor floor);

  std::size_t degree_;
  std::size_t kept_;
  int log_q_ = 0;
  std::vector<Modulus> moduli_;
};

}  // namespace blindfl::he::lattice
