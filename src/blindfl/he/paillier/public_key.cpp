#include "blindfl/he/paillier/public_key.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/base/secret.h"
#include "blindfl/base/text.h"

namespace blindfl::he::paillier {

namespace {

constexpr std::size_t kWindow = 8;
/// How many ciphertexts are read or written at a time: memory for them is bounded, whatever a message holds.
constexpr std::size_t kChunk = 1024;

// Throws before a ring is made of it.
BigInt read_modulus(const Params& params, ByteView bytes) {
  require<ProtocolError>(bytes.size() == PublicKey::bytes(params), "a Paillier public key of ", bytes.size(),
                         " bytes, expected ", PublicKey::bytes(params));
  BigInt n = BigInt::from_bytes(bytes.first(params.key_bytes()));
  // Both factors are 3 modulo 4.
  require<ProtocolError>(n.bits() == static_cast<std::size_t>(params.key_bits()) && mpz_fdiv_ui(n, 4) == 1,
                         "the Paillier public key is not one: its modulus has the wrong size or form");
  return n;
}

}  // namespace

PublicKey::PublicKey(const Params& params, std::string_view kernels, ByteView bytes)
    : params_(params),
      encoded_(bytes.begin(), bytes.end()),
      id_(to_hex(ByteView(digest_of(bytes)).first(8))),
      ring_(make_ring(read_modulus(params, bytes), kernels)) {
  const auto low = BigInt::from_bytes(bytes.subspan(params.key_bytes(), params.key_bytes()));
  const auto high = BigInt::from_bytes(bytes.subspan(2 * params.key_bytes()));
  require<ProtocolError>(low < n() && high < n(), "the Paillier public key is not one: its base is out of range");
  h_ = low + high * n();
  check();
}

void PublicKey::check() const {
  constexpr unsigned long kSmall = 10000;
  bool plausible = mpz_perfect_power_p(n()) == 0 && mpz_probab_prime_p(n(), 1) == 0;
  for (unsigned long d = 3; plausible && d < kSmall; d += 2) plausible = mpz_fdiv_ui(n(), d) != 0;
  require<ProtocolError>(plausible,
                         "the Paillier public key is not one: its modulus is no product of two large primes");
  const BigInt base = h_ % n();
  // Modulo n too: powers of 1 + k n are encryptions of other numbers than 0.
  require<ProtocolError>(base > BigInt(1) && gcd(base, n()) == BigInt(1) && mpz_jacobi(base, n()) == 1,
                         "the Paillier public key is not one: its base does not generate randomness");
}

const FixedBase& PublicKey::powers() const {
  std::call_once(powers_made_, [&] {
    const std::size_t bits = static_cast<std::size_t>(params_.key_bits()) + Params::kExtraBits;
    powers_ = std::make_unique<const FixedBase>(*ring_, h_, bits, kWindow);
  });
  return *powers_;
}

void PublicKey::encrypt_zero(std::span<Limb* const> to, Random& random) const {
  SecretVector<Limb> exponents(to.size() * powers().exponent_limbs());
  random.fill_integers(std::span<Limb>(exponents));
  powers().power(to, exponents);
}

void PublicKey::add(std::span<Limb* const> to, std::span<const BigInt> plaintexts) const {
  const std::size_t digit = ring_->stride() / 2;
  AlignedSecret<Limb> digits(to.size() * digit);
  std::vector<Ring::Plaintext> rows;
  rows.reserve(to.size());
  for (std::size_t i = 0; i < to.size(); ++i) {
    ring_->write_digit(digits.data() + i * digit, plaintexts[i] % n());
    rows.push_back({to[i], to[i], digits.data() + i * digit});
  }
  ring_->add_plaintext(rows);
}

// A product is a unit only if all its factors are: one gcd for many ciphertexts.
bool PublicKey::are_units(std::span<Limb* const> rows) const {
  Rows product(*ring_, 1);
  const std::vector<const Limb*> factors(rows.begin(), rows.end());
  const Ring::Chain chain{product[0], factors.data(), factors.size()};
  ring_->multiply_chains({&chain, 1});
  return gcd(ring_->read(product[0]), n()) == BigInt(1);
}

void PublicKey::read(std::span<Limb* const> to, ByteSource& in, ThreadPool& pool) const {
  const std::size_t bytes = ring_->row_bytes();
  Bytes buffer(std::min(kChunk, to.size()) * bytes);
  for (std::size_t first = 0; first < to.size(); first += kChunk) {
    const auto rows = to.subspan(first, std::min(kChunk, to.size() - first));
    in.read(std::span(buffer).first(rows.size() * bytes));
    pool.parallel_for(rows.size(), 64, [&](std::size_t begin, std::size_t end) {
      Rows read(*ring_, end - begin);
      const bool in_range = ring_->from_bytes(read[0], end - begin, buffer.data() + begin * bytes);
      for (std::size_t i = begin; i < end; ++i) {
        std::memcpy(rows[i], read[i - begin], ring_->stride() * sizeof(Limb));
      }
      require<ProtocolError>(in_range && are_units(rows.subspan(begin, end - begin)),
                             "what the peer sent is not a ciphertext under this key");
    });
  }
}

void PublicKey::write(std::span<const Limb* const> from, ByteSink& out, ThreadPool& pool) const {
  const std::size_t bytes = ring_->row_bytes();
  Bytes buffer(std::min(kChunk, from.size()) * bytes);
  for (std::size_t first = 0; first < from.size(); first += kChunk) {
    const auto rows = from.subspan(first, std::min(kChunk, from.size() - first));
    pool.parallel_for(rows.size(), 64, [&](std::size_t begin, std::size_t end) {
      Rows copy(*ring_, end - begin);
      for (std::size_t i = begin; i < end; ++i) {
        std::memcpy(copy[i - begin], rows[i], ring_->stride() * sizeof(Limb));
      }
      ring_->to_bytes(copy[0], end - begin, buffer.data() + begin * bytes);
    });
    out.write(ByteView(buffer).first(rows.size() * bytes));
  }
}

}  // namespace blindfl::he::paillier
