#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "blindfl/base/random.h"
#include "blindfl/he/lattice/kernels.h"
#include "blindfl/he/lattice/keys.h"
#include "blindfl/he/lattice/params.h"
#include "blindfl/he/lattice/scratch.h"

namespace blindfl::he::lattice {

/// What element-wise products do with polynomials of one set of parameters. Residues of a polynomial are modulus after
/// modulus, `degree` values each; a ciphertext is c0, then c1.
class Polynomials {
 public:
  Polynomials(std::shared_ptr<const Params> params, const Kernels& kernels);

  [[nodiscard]] const Params& params() const { return *params_; }
  [[nodiscard]] const Kernels& kernels() const { return kernels_; }
  [[nodiscard]] std::size_t degree() const { return params_->degree(); }
  [[nodiscard]] std::size_t moduli() const { return params_->moduli().size(); }
  /// Residues of one polynomial.
  [[nodiscard]] std::size_t size() const { return degree() * moduli(); }
  [[nodiscard]] ScratchPool& scratch() const { return scratch_; }

  /// Coefficients below 2^bits in magnitude as residues modulo one prime, transformed.
  void transform(std::span<const std::int64_t> coefficients, int bits, std::size_t modulus, std::uint64_t* out) const;
  /// Residues of one polynomial become its digits: see kernels.h.
  void to_digits(std::uint64_t* polynomial) const;
  /// And back, modulo one prime. `out` may not be one of the digits.
  void from_digits(const std::uint64_t* digits, std::size_t modulus, std::uint64_t* out) const;

  /// A ciphertext from the wire: c0 packed, c1 from a seed for each prime. Throws ProtocolError, naming `what`, if a
  /// residue is out of range.
  void load(const std::uint64_t* packed, std::span<const Seed> seeds, std::uint64_t* out, const char* what) const;

  /// Plaintexts and ciphertexts to be multiplied one by one, all transformed.
  struct Sum {
    const std::uint64_t* plaintexts;
    const std::uint64_t* ciphertexts;
    std::size_t count;
  };
  /// A fresh encryption of 0 and the sum of the products, as coefficients.
  void add_fresh_zero(const PublicKey& key, const Sum& sum, Random& random, std::span<std::uint64_t> out) const;

 private:
  std::shared_ptr<const Params> params_;
  const Kernels& kernels_;
  /// 2^52 / q_k and q_k 2^52 modulo q_l, for k < l.
  std::vector<std::vector<std::uint64_t>> one_over_radix_;
  std::vector<std::vector<std::uint64_t>> radix_;
  mutable ScratchPool scratch_;
};

}  // namespace blindfl::he::lattice
