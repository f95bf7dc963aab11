#pragma once

#include <memory>
#include <span>

#include "blindfl/base/secret.h"
#include "blindfl/he/paillier/public_key.h"

namespace blindfl::he::paillier {

/// One prime factor of n, and what its owner computes with modulo its square.
class Factor {
 public:
  Factor(const BigInt& p, const BigInt& other, const BigInt& h, std::string_view kernels);

  [[nodiscard]] const BigInt& prime() const { return p_; }
  [[nodiscard]] const BigInt& one_over_other() const { return one_over_other_; }
  [[nodiscard]] const Ring& ring() const { return *ring_; }

  /// Both digits of h^r modulo p^2, for exponents of `exponent_bits()`.
  [[nodiscard]] const FixedBase& powers() const { return *powers_; }
  /// A ciphertext's plaintext modulo p. Takes the digits of ciphertexts modulo n. Returns false if one is not a unit.
  [[nodiscard]] bool decrypt(std::span<const BigInt> low, std::span<const BigInt> high,
                             std::span<BigInt> plaintexts) const;

 private:
  BigInt p_;
  BigInt other_;
  BigInt one_over_other_;  ///< modulo p
  std::shared_ptr<const Ring> ring_;
  std::unique_ptr<const FixedBase> powers_;
  BigInt one_over_log_;  ///< 1 / L((1 + n)^(p - 1)) modulo p
};

/// The factors of n: encrypts faster than others can, and decrypts.
class SecretKey {
 public:
  /// Two random primes of equal length, both 3 modulo 4, far apart, without common factors in p - 1 and q - 1 but 2.
  /// Cost: a few tenths of a second.
  static SecretKey generate(const Params& params, std::string_view kernels, Random& random);

  /// What `save` returned. Throws DataError if it is not that, or of other parameters.
  static SecretKey restore(const Params& params, std::string_view kernels, ByteView saved);
  /// For this party's own files, which only it may read.
  [[nodiscard]] SecretVector<std::byte> save() const;
  /// Of what `save` returns.
  [[nodiscard]] static std::size_t saved_bytes(const Params& params) {
    return params.key_bytes() + PublicKey::bytes(params);
  }

  [[nodiscard]] const PublicKey& public_key() const { return *public_; }
  [[nodiscard]] const std::shared_ptr<const PublicKey>& shared_public_key() const { return public_; }

  /// Writes fresh encryptions of 0.
  void encrypt_zero(std::span<Limb* const> to, Random& random) const;
  /// Writes fresh encryptions of signed plaintexts.
  void encrypt(std::span<Limb* const> to, std::span<const BigInt> plaintexts, Random& random) const;

  /// The signed plaintexts of ciphertexts as they travel, `public_key().ring().row_bytes()` each.
  /// Throws ProtocolError if one is not a ciphertext under this key.
  void decrypt(std::span<const std::byte> ciphertexts, std::span<BigInt> plaintexts) const;

 private:
  SecretKey(const Params& params, std::string_view kernels, const BigInt& p, const BigInt& q, const BigInt& h);
  /// The digits modulo n of what is (a0 + a1 p) modulo p^2 and (b0 + b1 q) modulo q^2.
  void join(const BigInt (&a)[2], const BigInt (&b)[2], BigInt& low, BigInt& high) const;

  std::shared_ptr<const PublicKey> public_;
  Factor p_;
  Factor q_;
};

}  // namespace blindfl::he::paillier
