#include "blindfl/he/paillier/big_int.h"

#include <cstring>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/base/secret.h"

namespace blindfl::he::paillier {

void BigInt::clear() {
  explicit_bzero(value_->_mp_d, static_cast<std::size_t>(value_->_mp_alloc) * sizeof(mp_limb_t));
  mpz_clear(value_);
}

BigInt& BigInt::operator=(const BigInt& other) {
  // By way of a copy: growing in place would leave the old memory as it is.
  BigInt copy(other);
  mpz_swap(value_, copy.value_);
  return *this;
}

BigInt BigInt::power_of_two(std::size_t exponent) {
  BigInt x;
  mpz_setbit(x, exponent);
  return x;
}

BigInt BigInt::random_bits(std::size_t bits, Random& random) {
  SecretVector<std::byte> bytes((bits + 7) / 8);
  random.fill(bytes);
  BigInt x = from_bytes(bytes);
  mpz_fdiv_r_2exp(x, x, bits);
  return x;
}

void BigInt::to_bytes(std::span<std::byte> out) const {
  require<InvalidArgument>(bits() <= 8 * out.size(), "an integer of ", bits(), " bits does not fit in ", out.size(),
                           " bytes");
  std::size_t written = 0;
  mpz_export(out.data(), &written, -1, 1, 0, 0, value_);
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(written), out.end(), std::byte{0});
}

BigInt BigInt::from_bytes(ByteView bytes) {
  BigInt x;
  mpz_import(x, bytes.size(), -1, 1, 0, 0, bytes.data());
  return x;
}

BigInt power(const BigInt& base, const BigInt& exponent, const BigInt& modulus) {
  BigInt result;
  mpz_powm(result, base, exponent, modulus);
  return result;
}

BigInt inverse(const BigInt& a, const BigInt& modulus) {
  BigInt result;
  require<InvalidArgument>(mpz_invert(result, a, modulus) != 0, "a number without an inverse");
  return result;
}

BigInt gcd(const BigInt& a, const BigInt& b) {
  BigInt result;
  mpz_gcd(result, a, b);
  return result;
}

}  // namespace blindfl::he::paillier
