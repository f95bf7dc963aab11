#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "blindfl/he/lattice/modulus.h"

namespace blindfl::he::lattice {

/// What a set of parameters is asked for.
struct ParamsSpec {
  std::size_t degree = 0;
  /// Bits of the primes whose product is the ciphertext modulus q.
  std::vector<int> prime_bits{};
};

/// The sets that plans choose from, each with a key of its own. The modulus bounds the room that results, noise and
/// hiding share (docs/protocols.md, "The budget"); security bounds the modulus: `Params::largest_log_q`.
///
///   degree   log2 q   for
///   4096     100      opened results of binary and 16-bit features, shared ones of binary features
///   4096     105      the same of 20-bit features: half as much again to compute, and less than the next set's
///   8192     132      shared results of 16-bit features; updates
///   8192     150      lifted results of binary features in long runs; left operands of 62 bits
///   8192     176      lifted results of 20-bit features
///   8192     200      the same in rings of 128 bits
[[nodiscard]] const std::vector<ParamsSpec>& parameter_sets();

/// Parameters that passed every check. Plaintexts are modulo 2^t for any t up to 128: a plan's choice.
class Params {
 public:
  /// Errors are centred binomial with 2 * 21 coins: standard deviation 3.24, never beyond 21.
  static constexpr int kErrorBound = 21;

  /// Throws InvalidArgument if a prime cannot be had, or if the product of the primes is beyond what 128-bit security
  /// allows for the degree.
  explicit Params(const ParamsSpec& spec);

  /// "4096/100": degree and bits of q.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::size_t degree() const { return degree_; }
  [[nodiscard]] const std::vector<Modulus>& moduli() const { return moduli_; }
  /// log2 of the ciphertext modulus, rounded up: what security and hiding depend on. Primes are the largest of their
  /// bits, so that q is less than a hundredth below 2^log_q.
  [[nodiscard]] int log_q() const { return log_q_; }
  /// 1 / (the product of the other primes) modulo prime `l`: what turns residues into fractions.
  [[nodiscard]] std::uint64_t one_over_others(std::size_t l) const;
  /// 128; 0 for parameters below the floor, which only tests have.
  [[nodiscard]] int security_bits() const { return log_q_ <= largest_log_q(degree_) ? 128 : 0; }
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

  std::string name_;
  std::size_t degree_;
  int log_q_ = 0;
  std::vector<Modulus> moduli_;
};

}  // namespace blindfl::he::lattice
