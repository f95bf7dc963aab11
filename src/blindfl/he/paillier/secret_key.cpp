#include "blindfl/he/paillier/secret_key.h"

#include <vector>

#include "blindfl/base/error.h"

namespace blindfl::he::paillier {

namespace {

constexpr std::size_t kWindow = 8;

BigInt random_prime(std::size_t bits, Random& random) {
  for (;;) {
    BigInt candidate = BigInt::random_bits(bits, random);
    // The two highest bits make n exactly twice as long; the two lowest make it 3 modulo 4.
    for (const std::size_t bit : {bits - 1, bits - 2, std::size_t{1}, std::size_t{0}}) mpz_setbit(candidate, bit);
    // GMP's test: 24 rounds of Baillie-PSW and Miller-Rabin.
    if (mpz_probab_prime_p(candidate, 24) != 0) return candidate;
  }
}

/// Primes that are too close give n away by its square root.
bool far_apart(const BigInt& p, const BigInt& q) {
  return (p - q).bits() + 100 > p.bits();
}

BigInt random_unit(const BigInt& n, Random& random) {
  for (;;) {
    BigInt x = BigInt::random_bits(n.bits() + 64, random) % n;
    if (gcd(x, n) == BigInt(1)) return x;
  }
}

Bytes encode_public(const Params& params, const BigInt& n, const BigInt& h) {
  const std::size_t size = params.key_bytes();
  Bytes bytes(PublicKey::bytes(params));
  n.to_bytes(std::span(bytes).first(size));
  (h % n).to_bytes(std::span(bytes).subspan(size, size));
  (h / n).to_bytes(std::span(bytes).subspan(2 * size));
  return bytes;
}

}  // namespace

Factor::Factor(const BigInt& p, const BigInt& other, const BigInt& h, std::string_view kernels)
    : p_(p), other_(other), one_over_other_(inverse(other, p)), ring_(make_ring(p, kernels)) {
  powers_ = std::make_unique<const FixedBase>(*ring_, h % (p * p), p.bits() + Params::kOwnerExtraBits, kWindow);
  // (1 + n)^(p - 1) = 1 + (p - 1) n modulo p^2, so its L is (p - 1) q = -q modulo p.
  one_over_log_ = inverse(p - other % p, p);
}

bool Factor::decrypt(std::span<const BigInt> low, std::span<const BigInt> high, std::span<BigInt> plaintexts) const {
  const std::size_t digit_bytes = ring_->digit_bytes();
  SecretVector<std::byte> bytes(low.size() * ring_->row_bytes());
  Rows rows(*ring_, low.size());
  BigInt quotient;
  BigInt digit;
  for (std::size_t i = 0; i < low.size(); ++i) {
    // c = low + high p q, as two digits to the base p.
    const std::span row(bytes.data() + i * ring_->row_bytes(), ring_->row_bytes());
    mpz_fdiv_qr(quotient, digit, low[i], p_);
    digit.to_bytes(row.first(digit_bytes));
    mpz_addmul(quotient, high[i], other_);
    mpz_mod(digit, quotient, p_);
    digit.to_bytes(row.subspan(digit_bytes));
  }
  if (!ring_->from_bytes(rows[0], low.size(), bytes.data())) return false;
  std::vector<Ring::Row> in_place;
  in_place.reserve(low.size());
  for (std::size_t i = 0; i < low.size(); ++i) in_place.push_back({rows[i], rows[i]});
  ring_->power(in_place, p_ - BigInt(1));
  ring_->to_bytes(rows[0], low.size(), bytes.data());

  bool units = true;
  for (std::size_t i = 0; i < low.size(); ++i) {
    const ByteView row(bytes.data() + i * ring_->row_bytes(), ring_->row_bytes());
    // By Fermat the low digit is 1; the high one is L.
    units = units && BigInt::from_bytes(row.first(digit_bytes)) == BigInt(1);
    plaintexts[i] = BigInt::from_bytes(row.subspan(digit_bytes)) * one_over_log_ % p_;
  }
  return units;
}

SecretKey::SecretKey(const Params& params, std::string_view kernels, const BigInt& p, const BigInt& q, const BigInt& h)
    : public_(std::make_shared<const PublicKey>(params, kernels, encode_public(params, p * q, h))),
      p_(p, q, h, kernels),
      q_(q, p, h, kernels) {}

SecretKey SecretKey::generate(const Params& params, std::string_view kernels, Random& random) {
  const auto bits = static_cast<std::size_t>(params.key_bits()) / 2;
  for (;;) {
    const BigInt p = random_prime(bits, random);
    const BigInt q = random_prime(bits, random);
    // Without common factors but 2, h generates one group, and whatever is encrypted lies in it: see encrypt_zero.
    if (!far_apart(p, q) || gcd(p - BigInt(1), q - BigInt(1)) != BigInt(2)) continue;
    const BigInt n = p * q;
    const BigInt x = random_unit(n, random);
    return {params, kernels, p, q, power(n - x * x % n, n, n * n)};
  }
}

SecretVector<std::byte> SecretKey::save() const {
  const std::size_t half = public_->params().key_bytes() / 2;
  SecretVector<std::byte> saved(saved_bytes(public_->params()));
  p_.prime().to_bytes(std::span(saved).first(half));
  q_.prime().to_bytes(std::span(saved).subspan(half, half));
  std::copy(public_->encoded().begin(), public_->encoded().end(),
            saved.begin() + static_cast<std::ptrdiff_t>(2 * half));
  return saved;
}

SecretKey SecretKey::restore(const Params& params, std::string_view kernels, ByteView saved) {
  const std::size_t half = params.key_bytes() / 2;
  require<DataError>(saved.size() == saved_bytes(params),
                     "the saved Paillier key has the wrong size: it is damaged, or of another key size");
  const auto p = BigInt::from_bytes(saved.first(half));
  const auto q = BigInt::from_bytes(saved.subspan(half, half));
  const ByteView key = saved.subspan(2 * half);
  const bool whole = p * q == BigInt::from_bytes(key.first(params.key_bytes())) && mpz_probab_prime_p(p, 24) != 0 &&
                     mpz_probab_prime_p(q, 24) != 0 && gcd(p - BigInt(1), q - BigInt(1)) == BigInt(2);
  require<DataError>(whole, "the saved Paillier key is damaged: its parts do not belong together");
  try {
    const PublicKey checked(params, kernels, key);
    return {params, kernels, p, q, checked.h()};
  } catch (const ProtocolError& error) {
    fail<DataError>("the saved Paillier key is damaged: ", error.what());
  }
}

// c = low + high n, worked out modulo p and modulo q: everything half as long as n.
void SecretKey::join(const BigInt (&a)[2], const BigInt (&b)[2], BigInt& low, BigInt& high) const {
  const BigInt& p = p_.prime();
  const BigInt& q = q_.prime();
  BigInt k;
  BigInt j;
  BigInt high_q;
  // low = a0 + k p = b0 + j q.
  mpz_sub(k, b[0], a[0]);
  mpz_mul(k, k, q_.one_over_other());
  mpz_mod(k, k, q);
  mpz_mul(low, k, p);
  mpz_add(low, low, a[0]);
  mpz_sub(j, low, b[0]);
  mpz_divexact(j, j, q);
  // (c - low) / n modulo p is (a1 - k) / q, modulo q it is (b1 - j) / p.
  mpz_sub(high, a[1], k);
  mpz_mul(high, high, p_.one_over_other());
  mpz_mod(high, high, p);
  mpz_sub(high_q, b[1], j);
  mpz_mul(high_q, high_q, q_.one_over_other());
  mpz_sub(high_q, high_q, high);
  mpz_mul(high_q, high_q, q_.one_over_other());
  mpz_mod(high_q, high_q, q);
  mpz_addmul(high, high_q, p);
}

// Under each factor its own exponent, a little longer than the factor: the powers of h modulo p^2 and modulo q^2 repeat
// after p - 1 and q - 1 steps. Their parities must agree, or the Jacobi symbol of what others compute would tell of
// how.
void SecretKey::encrypt_zero(std::span<Limb* const> to, Random& random) const {
  const Ring& ring = public_->ring();
  const std::size_t half = p_.ring().row_bytes();
  SecretVector<std::byte> digits[2];
  SecretVector<Limb> parity(to.size());
  random.fill_integers(std::span<Limb>(parity));
  for (const std::size_t f : {std::size_t{0}, std::size_t{1}}) {
    const Factor& factor = f == 0 ? p_ : q_;
    const std::size_t limbs = factor.powers().exponent_limbs();
    SecretVector<Limb> exponents(to.size() * limbs);
    random.fill_integers(std::span<Limb>(exponents));
    Rows rows(factor.ring(), to.size());
    std::vector<Limb*> pointers;
    pointers.reserve(to.size());
    for (std::size_t i = 0; i < to.size(); ++i) {
      exponents[i * limbs] = (exponents[i * limbs] & ~Limb{1}) | (parity[i] & 1);
      pointers.push_back(rows[i]);
    }
    factor.powers().power(pointers, exponents);
    digits[f].resize(to.size() * half);
    factor.ring().to_bytes(rows[0], to.size(), digits[f].data());
  }

  const std::size_t digit_bytes = p_.ring().digit_bytes();
  SecretVector<std::byte> joined(to.size() * ring.row_bytes());
  BigInt low;
  BigInt high;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto digit = [&](std::size_t f, std::size_t which) {
      return BigInt::from_bytes(ByteView(digits[f]).subspan(i * half + which * digit_bytes, digit_bytes));
    };
    join({digit(0, 0), digit(0, 1)}, {digit(1, 0), digit(1, 1)}, low, high);
    const std::span row(joined.data() + i * ring.row_bytes(), ring.row_bytes());
    low.to_bytes(row.first(ring.digit_bytes()));
    high.to_bytes(row.subspan(ring.digit_bytes()));
  }
  Rows rows(ring, to.size());
  (void)ring.from_bytes(rows[0], to.size(), joined.data());
  for (std::size_t i = 0; i < to.size(); ++i) std::copy_n(rows[i], ring.stride(), to[i]);
}

void SecretKey::encrypt(std::span<Limb* const> to, std::span<const BigInt> plaintexts, Random& random) const {
  encrypt_zero(to, random);
  public_->add(to, plaintexts);
}

void SecretKey::decrypt(std::span<const std::byte> ciphertexts, std::span<BigInt> plaintexts) const {
  const Ring& ring = public_->ring();
  const std::size_t count = plaintexts.size();
  require<ProtocolError>(ciphertexts.size() == count * ring.row_bytes(), "ciphertexts of the wrong length");
  std::vector<BigInt> low;
  std::vector<BigInt> high;
  for (std::size_t i = 0; i < count; ++i) {
    const auto row = ciphertexts.subspan(i * ring.row_bytes(), ring.row_bytes());
    low.push_back(BigInt::from_bytes(row.first(ring.digit_bytes())));
    high.push_back(BigInt::from_bytes(row.subspan(ring.digit_bytes())));
    require<ProtocolError>(low.back() < public_->n() && high.back() < public_->n(),
                           "what the peer sent is not a ciphertext under this key");
  }
  std::vector<BigInt> at_q(count);
  const bool units = p_.decrypt(low, high, plaintexts) && q_.decrypt(low, high, at_q);
  require<ProtocolError>(units, "what the peer sent is not a ciphertext under this key");

  const BigInt half = public_->n() / BigInt(2);
  for (std::size_t i = 0; i < count; ++i) {
    BigInt& m = plaintexts[i];
    BigInt& k = at_q[i];
    mpz_sub(k, k, m);
    mpz_mul(k, k, q_.one_over_other());
    mpz_mod(k, k, q_.prime());
    mpz_addmul(m, k, p_.prime());
    if (m > half) mpz_sub(m, m, public_->n());
  }
}

}  // namespace blindfl::he::paillier
