#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "blindfl/he/lattice/element_plan.h"
#include "blindfl/he/lattice/fraction.h"
#include "blindfl/he/lattice/polynomials.h"

namespace blindfl::he::lattice {

/// What both parties do with slots modulo primes, for ciphertexts and plaintexts of given moduli.
class ElementCipher : public Polynomials {
 public:
  ElementCipher(const LatticeElementPlan& plan, const Kernels& kernels);

  [[nodiscard]] std::size_t primes() const { return plaintexts_.size(); }
  [[nodiscard]] int prime_bits() const { return plaintexts_.front().bits(); }

  /// r = q m modulo t for the polynomial m whose slots are these numbers, modulo t: round(q m / t) is (q m - r) / t,
  /// and one more where `above_half` adds it.
  void encode_right(std::size_t prime, std::span<const std::int64_t> slots, std::uint64_t* r) const;
  void add_above_half(std::size_t prime, const std::uint64_t* r, std::span<std::int64_t> error) const;
  /// Error and plaintext modulo one prime of q, transformed.
  void transform_right(std::size_t prime, std::size_t modulus, const std::uint64_t* r,
                       std::span<const std::int64_t> error, std::uint64_t* out) const;
  /// Coefficients of the polynomial with these slots, between -t/2 and t/2.
  void encode_left(std::size_t prime, std::span<const std::int64_t> slots, std::span<std::int64_t> out) const;

  /// Residues of c0, as a fraction's numerators: each times 1 / (q / q_l).
  void scale_for_fractions(std::uint64_t* polynomial) const;
  /// The slots of [t c / q] modulo t, for numerators of a fraction c / q.
  void round_to_slots(std::size_t prime, const std::uint64_t* numerators, std::uint64_t* slots) const;
  /// The second half of the slots modulo one prime, added to the first.
  void add_halves(std::size_t prime, std::uint64_t* slots) const;
  /// Shares modulo each t become shares modulo 2^128: `slots` has `degree` values for each prime, and is destroyed.
  void join(std::uint64_t* slots, std::span<UInt128> out) const;

 private:
  struct Plaintext {
    Modulus::Factors times_q;                     ///< the last stage of an inverse transform, times q
    std::vector<std::uint64_t> minus_one_over_t;  ///< modulo each prime of q, in Montgomery form
    std::vector<std::uint64_t> one_over_radix;    ///< 2^52 / t_j, for earlier primes t_j
  };

  std::vector<Modulus> plaintexts_;
  std::vector<Plaintext> constants_;
  std::vector<std::uint64_t> crt_;  ///< 1 / (q / q_l), with its quotient
  std::vector<std::uint64_t> crt_quotient_;
  std::vector<Fraction> one_over_modulus_;
};

}  // namespace blindfl::he::lattice
