#include "mpz_paillier.h"

namespace blindfl::bench {

MpzFixedBase::MpzFixedBase(const BigInt& base, const BigInt& modulus, std::size_t exponent_bits)
    : modulus_(modulus), exponent_bits_(exponent_bits) {
  const std::size_t width = std::size_t{1} << kWindow;
  const std::size_t windows = (exponent_bits + kWindow - 1) / kWindow;
  table_.resize(windows * width);
  BigInt step = base;
  for (std::size_t i = 0; i < windows; ++i) {
    BigInt* row = table_.data() + i * width;
    mpz_set_ui(row[0], 1);
    for (std::size_t d = 1; d < width; ++d) {
      mpz_mul(row[d], row[d - 1], step);
      mpz_mod(row[d], row[d], modulus);
    }
    mpz_mul(step, row[width - 1], step);
    mpz_mod(step, step, modulus);
  }
}

void MpzFixedBase::power(BigInt& to, const BigInt& exponent) const {
  static_assert(kWindow == 8 && sizeof(mp_limb_t) == 8);
  const auto* limbs = mpz_limbs_read(exponent);
  const std::size_t windows = table_.size() >> kWindow;
  mpz_set_ui(to, 1);
  for (std::size_t i = 0; i < windows && i / 8 < mpz_size(exponent); ++i) {
    const std::size_t digit = (limbs[i / 8] >> (i % 8 * kWindow)) & 0xff;
    if (digit == 0) continue;
    mpz_mul(to, to, table_[(i << kWindow) + digit]);
    mpz_mod(to, to, modulus_);
  }
}

MpzPaillier::MpzPaillier(const he::paillier::SecretKey& key) : n_(key.public_key().n()), h_(key.public_key().h()) {
  const auto saved = key.save();
  const std::size_t half = key.public_key().params().key_bytes() / 2;
  p_.prime = BigInt::from_bytes(ByteView(saved).first(half));
  q_.prime = BigInt::from_bytes(ByteView(saved).subspan(half, half));
  n_squared_ = n_ * n_;
  half_ = n_ / BigInt(2);
  make(p_);
  make(q_);
  one_over_p_ = inverse(p_.prime, q_.prime);
  one_over_q_squared_ = inverse(q_.squared, p_.squared);
}

void MpzPaillier::make(Factor& factor) const {
  factor.squared = factor.prime * factor.prime;
  factor.order = factor.prime - BigInt(1);
  const BigInt generated = he::paillier::power((n_ + BigInt(1)) % factor.squared, factor.order, factor.squared);
  factor.one_over_log = inverse((generated - BigInt(1)) / factor.prime, factor.prime);
}

// c holds randomness: times 1 + m n.
void MpzPaillier::add_plaintext(BigInt& c, const BigInt& m) const {
  BigInt t;
  mpz_mod(t, m, n_);
  mpz_mul(t, t, n_);
  mpz_add_ui(t, t, 1);
  add(c, t);
}

void MpzPaillier::encrypt(BigInt& c, const BigInt& m, Random& random) const {
  BigInt r = BigInt::random_bits(n_.bits() + 64, random);
  mpz_mod(r, r, n_);
  mpz_powm(c, r, n_, n_squared_);
  add_plaintext(c, m);
}

void MpzPaillier::encrypt(BigInt& c, const BigInt& m, const MpzFixedBase& powers, Random& random) const {
  powers.power(c, BigInt::random_bits(powers.exponent_bits(), random));
  add_plaintext(c, m);
}

void MpzPaillier::encrypt(BigInt& c, const BigInt& m, const MpzFixedBase& at_p, const MpzFixedBase& at_q,
                          Random& random) const {
  const BigInt r = BigInt::random_bits(at_p.exponent_bits(), random);
  BigInt t;
  at_p.power(t, r);
  at_q.power(c, r);
  // c = (modulo q^2) + q^2 ((modulo p^2) - (modulo q^2)) / q^2
  mpz_sub(t, t, c);
  mpz_mul(t, t, one_over_q_squared_);
  mpz_mod(t, t, p_.squared);
  mpz_addmul(c, t, q_.squared);
  add_plaintext(c, m);
}

void MpzPaillier::decrypt_at(BigInt& m, const BigInt& c, const Factor& factor) {
  mpz_mod(m, c, factor.squared);
  mpz_powm(m, m, factor.order, factor.squared);
  mpz_sub_ui(m, m, 1);
  mpz_divexact(m, m, factor.prime);
  mpz_mul(m, m, factor.one_over_log);
  mpz_mod(m, m, factor.prime);
}

void MpzPaillier::decrypt(BigInt& m, const BigInt& c) const {
  BigInt at_q;
  decrypt_at(m, c, p_);
  decrypt_at(at_q, c, q_);
  mpz_sub(at_q, at_q, m);
  mpz_mul(at_q, at_q, one_over_p_);
  mpz_mod(at_q, at_q, q_.prime);
  mpz_addmul(m, at_q, p_.prime);
  if (m > half_) mpz_sub(m, m, n_);
}

}  // namespace blindfl::bench
