#pragma once

#include <cstddef>
#include <vector>

#include "blindfl/he/paillier/secret_key.h"

// Paillier's scheme as one would write it with GMP's functions on whole numbers (mpz): what ours is compared with.

namespace blindfl::bench {

using he::paillier::BigInt;

/// Powers of one base, by a table for each window of the exponent.
class MpzFixedBase {
 public:
  MpzFixedBase(const BigInt& base, const BigInt& modulus, std::size_t exponent_bits);

  [[nodiscard]] std::size_t exponent_bits() const { return exponent_bits_; }
  void power(BigInt& to, const BigInt& exponent) const;

 private:
  static constexpr std::size_t kWindow = 8;
  const BigInt& modulus_;
  std::size_t exponent_bits_;
  std::vector<BigInt> table_;
};

/// Both halves of a key: ciphertexts are numbers below n^2, plaintexts signed.
class MpzPaillier {
 public:
  /// The same key as `key`.
  explicit MpzPaillier(const he::paillier::SecretKey& key);
  MpzPaillier(const MpzPaillier&) = delete;
  MpzPaillier& operator=(const MpzPaillier&) = delete;

  [[nodiscard]] const BigInt& n() const { return n_; }
  [[nodiscard]] const BigInt& n_squared() const { return n_squared_; }
  [[nodiscard]] const BigInt& h() const { return h_; }
  [[nodiscard]] const BigInt& p_squared() const { return p_.squared; }
  [[nodiscard]] const BigInt& q_squared() const { return q_.squared; }
  [[nodiscard]] std::size_t ciphertext_bytes() const { return n_.bits() / 4; }

  /// (1 + m n) r^n for a random r: the scheme as it was published.
  void encrypt(BigInt& c, const BigInt& m, Random& random) const;
  /// (1 + m n) h^r, by the tables of h modulo n^2.
  void encrypt(BigInt& c, const BigInt& m, const MpzFixedBase& powers, Random& random) const;
  /// The same by the key's owner, by tables modulo p^2 and q^2.
  void encrypt(BigInt& c, const BigInt& m, const MpzFixedBase& at_p, const MpzFixedBase& at_q, Random& random) const;
  /// Modulo p^2 and modulo q^2, joined.
  void decrypt(BigInt& m, const BigInt& c) const;

  /// to = to * c: the sum of the plaintexts.
  void add(BigInt& to, const BigInt& c) const {
    mpz_mul(to, to, c);
    mpz_mod(to, to, n_squared_);
  }

 private:
  struct Factor {
    BigInt prime;
    BigInt squared;
    BigInt order;         ///< p - 1
    BigInt one_over_log;  ///< 1 / L((1 + n)^(p - 1)) modulo p
  };
  void make(Factor& factor) const;
  void add_plaintext(BigInt& c, const BigInt& m) const;
  static void decrypt_at(BigInt& m, const BigInt& c, const Factor& factor);

  BigInt n_;
  BigInt n_squared_;
  BigInt half_;
  BigInt h_;
  Factor p_;
  Factor q_;
  BigInt one_over_p_;          ///< modulo q
  BigInt one_over_q_squared_;  ///< modulo p^2
};

}  // namespace blindfl::bench
