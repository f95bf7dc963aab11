#pragma once

#include <gmp.h>

#include <cstdint>
#include <string_view>
#include <utility>

#include "blindfl/base/bytes.h"
#include "blindfl/base/random.h"

namespace blindfl::he::paillier {

/// An integer of any size: GMP's, with the memory of its value overwritten before it is given back.
///
/// Converts to GMP's pointers, so that the whole of mpz_* works on it: `mpz_mul(c, a, b)`.
class BigInt {
 public:
  BigInt() { mpz_init(value_); }
  BigInt(std::int64_t x) : BigInt() { mpz_set_si(value_, x); }  // NOLINT(google-explicit-constructor): as integers do
  BigInt(const BigInt& other) { mpz_init_set(value_, other.value_); }
  BigInt(BigInt&& other) noexcept : BigInt() { mpz_swap(value_, other.value_); }
  BigInt& operator=(const BigInt& other);
  BigInt& operator=(BigInt&& other) noexcept {
    mpz_swap(value_, other.value_);
    return *this;
  }
  ~BigInt() { clear(); }

  operator mpz_ptr() { return value_; }           // NOLINT(google-explicit-constructor): see above
  operator mpz_srcptr() const { return value_; }  // NOLINT(google-explicit-constructor)

  /// Of the magnitude; 0 for 0.
  [[nodiscard]] std::size_t bits() const { return mpz_sgn(value_) == 0 ? 0 : mpz_sizeinbase(value_, 2); }

  /// -1, 0 or 1.
  [[nodiscard]] int sign() const { return mpz_sgn(value_); }

  /// 2^exponent.
  [[nodiscard]] static BigInt power_of_two(std::size_t exponent);
  /// Uniform in [0, 2^bits).
  [[nodiscard]] static BigInt random_bits(std::size_t bits, Random& random);

  /// The magnitude, little-endian, filled up with zeros. Throws InvalidArgument if it does not fit.
  void to_bytes(std::span<std::byte> out) const;
  [[nodiscard]] static BigInt from_bytes(ByteView bytes);

  friend BigInt operator+(const BigInt& a, const BigInt& b) { return make(mpz_add, a, b); }
  friend BigInt operator-(const BigInt& a, const BigInt& b) { return make(mpz_sub, a, b); }
  friend BigInt operator*(const BigInt& a, const BigInt& b) { return make(mpz_mul, a, b); }
  /// Rounded down.
  friend BigInt operator/(const BigInt& a, const BigInt& b) { return make(mpz_fdiv_q, a, b); }
  /// In [0, b).
  friend BigInt operator%(const BigInt& a, const BigInt& b) { return make(mpz_mod, a, b); }
  friend bool operator==(const BigInt& a, const BigInt& b) { return mpz_cmp(a, b) == 0; }
  friend auto operator<=>(const BigInt& a, const BigInt& b) { return mpz_cmp(a, b) <=> 0; }

 private:
  template <class Function>
  static BigInt make(Function function, const BigInt& a, const BigInt& b) {
    BigInt result;
    function(result, a, b);
    return result;
  }
  void clear();

  mpz_t value_;
};

/// `base^exponent mod modulus`.
[[nodiscard]] BigInt power(const BigInt& base, const BigInt& exponent, const BigInt& modulus);
/// Throws InvalidArgument if there is no inverse.
[[nodiscard]] BigInt inverse(const BigInt& a, const BigInt& modulus);
[[nodiscard]] BigInt gcd(const BigInt& a, const BigInt& b);

}  // namespace blindfl::he::paillier
