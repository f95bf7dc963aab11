// Keys, encryption and decryption against what GMP's mpz says of Paillier's formulas.

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "blindfl/base/error.h"
#include "blindfl/he/paillier/secret_key.h"
#include "testing/insecure_paillier.h"
#include "testing/label.h"
#include "testing/thrown.h"

namespace blindfl::he::paillier::keys_test {
namespace {

// Made by another program: p, q, h, and an encryption of -123456789012345678901234567890.
constexpr const char* kP =
    "d2ff2eeccd4193eced14a49610f5b1f1de719540e3586d0b0d8803bec775d0d61af6056e8d2d72ea2e91f581f9c9955ef4ee"
    "9dddc87fca5766dc025739b94cf7";
constexpr const char* kQ =
    "faf10e299ecaf400fcabe68d54ea0ffdfe5e31308f4fb20b25dddcf88458e7cb3996fcf84f4e1990fa863c8314052fd02d0f"
    "4355a549f0b3921784232223eb2b";
constexpr const char* kH =
    "7b1b52419c1b825d6b77af4752e1ed3efa92503874f03c1f434dc0805c648e4a96939714179f2aa9dc882a71c4c1f21f074a"
    "9e72f6eaf24000d66f9e7fe2ac7a8f97c615465bd229f2f151f6ac61fd52ed81de1d358fcb0047fd7cdf66dc28c77eb69d3a"
    "5cc2c89bc8802a8da18dd0f93f7ac49e5310b318e97ee324508efbbc97490ac21058bd14b56eee5c8162a9ec71f6923951a5"
    "cb2ad101f44f5499a08fd674779250878de6529ca3f10432fc60c1f81675aede28df9aa6710dedd999a92054d8e509b144f0"
    "9bd03a8ff41043818d86633e5b3a840d67db9fc2ea062b8ac52d2a5d7f70220a49c6d08a2fe12e8cf0537dfae01f730a3883"
    "84f3b0aa7c44";
constexpr const char* kC =
    "7aeafbea947f547b144615cabbc252b73a9ad621709fed4aecb6735d021d0977551d076cd90b98e00ac97f4b90e5ccd8cdc2"
    "a2405fd30873365e271678147b5984b2dc2212f8dc3ec93b182b9842d045fbd8eb0750325770237e426e80c91e2a7ff9d641"
    "028ad11ec59d1cdbf82eb88b03db8b9d120cd976767c6644396d257960ba521352f0be8ef75282e8b127dd2f950da88aaa9f"
    "4c97c36144aace145b0fdf52b60d5223089bea066ef37244c13ac09ed4c72c8f950804c8655b91fbbe7c034c686a0e38d5d4"
    "af3e5180298aff7fa04b2056d57a3782a627d62d925538ce1b3b62e463263ce09fd9e042eee5f50e87e1e116735ed83c2aab"
    "5d44b9212e97";

BigInt from_hex(const char* text) {
  BigInt x;
  EXPECT_EQ(mpz_set_str(x, text, 16), 0);
  return x;
}

struct Case {
  int key_bits;
  std::string_view kernels;
};

/// Large keys take seconds, with the kernels of any processor.
std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const std::string_view kernels : available_kernels()) {
    cases.push_back({1024, kernels});
    if (!blindfl::testing::kFull) continue;
    for (const int bits : {2048, 3072}) cases.push_back({bits, kernels});
  }
  return cases;
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  return std::string(info.param.kernels) + "_" + std::to_string(info.param.key_bits);
}

/// A key for each case, made once.
const SecretKey& key_of(const Case& c) {
  static std::map<std::pair<int, std::string_view>, std::unique_ptr<SecretKey>> keys;
  auto& key = keys[{c.key_bits, c.kernels}];
  if (!key) {
    Random random;
    key = std::make_unique<SecretKey>(SecretKey::generate(InsecureParams::make(c.key_bits), c.kernels, random));
  }
  return *key;
}

class PaillierKeys : public ::testing::TestWithParam<Case> {
 protected:
  const SecretKey& key() { return key_of(GetParam()); }
  const PublicKey& public_key() { return key().public_key(); }
  const Ring& ring() { return public_key().ring(); }
  const BigInt& n() { return public_key().n(); }
  BigInt n2() { return n() * n(); }

  /// As it travels.
  Bytes wire(const BigInt& ciphertext) {
    Bytes bytes(ring().row_bytes());
    (ciphertext % n()).to_bytes(std::span(bytes).first(ring().digit_bytes()));
    (ciphertext / n()).to_bytes(std::span(bytes).subspan(ring().digit_bytes()));
    return bytes;
  }
  BigInt decrypt(const BigInt& ciphertext) {
    std::vector<BigInt> plaintext(1);
    key().decrypt(wire(ciphertext), plaintext);
    return plaintext[0];
  }
  /// Paillier's own formula, with a random r.
  BigInt textbook_encryption(const BigInt& m) {
    const BigInt r = BigInt::random_bits(n().bits() + 64, random_) % n();
    return (m % n() * n() + BigInt(1)) * power(r, n(), n2()) % n2();
  }
  std::vector<BigInt> plaintexts() {
    const BigInt half = n() / BigInt(2);
    std::vector<BigInt> values{0, 1, -1, 2, -2, half, BigInt(0) - half, BigInt::power_of_two(100)};
    for (int i = 0; i < 5; ++i) values.push_back(BigInt::random_bits(n().bits() - 2, random_));
    for (int i = 0; i < 5; ++i) values.push_back(BigInt(0) - BigInt::random_bits(n().bits() - 2, random_));
    return values;
  }

  Random random_;
  ThreadPool pool_;
};

INSTANTIATE_TEST_SUITE_P(Kernels, PaillierKeys, ::testing::ValuesIn(all_cases()), name_of);

TEST_P(PaillierKeys, HaveTheSizeAndFormThatTheSchemeNeeds) {
  const SecretVector<std::byte> saved = key().save();
  const std::size_t half = saved.size() / 8;
  const auto p = BigInt::from_bytes(ByteView(saved).first(half));
  const auto q = BigInt::from_bytes(ByteView(saved).subspan(half, half));
  EXPECT_EQ(p * q, n());
  EXPECT_EQ(n().bits(), static_cast<std::size_t>(GetParam().key_bits));
  EXPECT_EQ(p.bits(), q.bits());
  EXPECT_GT((p - q).bits() + 100, p.bits());
  EXPECT_EQ(mpz_fdiv_ui(p, 4), 3U);
  EXPECT_EQ(mpz_fdiv_ui(q, 4), 3U);
  EXPECT_EQ(gcd(p - BigInt(1), q - BigInt(1)), BigInt(2));
  EXPECT_NE(mpz_probab_prime_p(p, 30), 0);
  EXPECT_NE(mpz_probab_prime_p(q, 30), 0);
}

// Exponents as long as p - 1 would make some of the p - 1 powers twice as likely as others.
TEST_P(PaillierKeys, DrawTheOwnersExponents64BitsLongerThanAFactor) {
  const SecretVector<std::byte> saved = key().save();
  const std::size_t half = saved.size() / 8;
  const auto p = BigInt::from_bytes(ByteView(saved).first(half));
  const auto q = BigInt::from_bytes(ByteView(saved).subspan(half, half));
  const Factor factor(p, q, public_key().h(), GetParam().kernels);
  ASSERT_EQ(factor.powers().exponent_bits(), p.bits() + 64);
  // And they are used to their last bit.
  std::vector<Limb> exponent(factor.powers().exponent_limbs(), ~Limb{0});
  Rows rows(factor.ring(), 1);
  Limb* const to = rows[0];
  factor.powers().power({&to, 1}, exponent);
  const BigInt all_ones = BigInt::power_of_two(p.bits() + 64) - BigInt(1);
  EXPECT_EQ(factor.ring().read(to), power(public_key().h(), all_ones, p * p));
}

// Powers of h modulo p^2 give p away.
static_assert(std::is_same_v<Rows::Storage, AlignedSecret<Limb>>, "rows are cleared when freed");

TEST_P(PaillierKeys, DecryptWhatTheTextbookEncrypts) {
  for (const BigInt& m : plaintexts()) EXPECT_EQ(decrypt(textbook_encryption(m)), m);
}

TEST_P(PaillierKeys, EncryptWhatTheTextbookDecrypts) {
  const std::vector<BigInt> values = plaintexts();
  Rows rows(ring(), values.size());
  std::vector<Limb*> pointers;
  for (std::size_t i = 0; i < values.size(); ++i) pointers.push_back(rows[i]);
  key().encrypt(pointers, values, random_);
  const SecretVector<std::byte> saved = key().save();
  const std::size_t half = saved.size() / 8;
  const BigInt one = 1;
  const auto p = BigInt::from_bytes(ByteView(saved).first(half));
  const auto q = BigInt::from_bytes(ByteView(saved).subspan(half, half));
  const BigInt lambda = (p - one) * (q - one);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const BigInt l = (power(ring().read(rows[i]), lambda, n2()) - one) / n();
    EXPECT_EQ(l * inverse(lambda, n()) % n(), values[i] % n());
  }
}

TEST_P(PaillierKeys, EncryptTheSameDifferentlyEachTime) {
  Rows rows(ring(), 20);
  std::vector<Limb*> pointers;
  for (std::size_t i = 0; i < 20; ++i) pointers.push_back(rows[i]);
  key().encrypt_zero(std::span(pointers).first(10), random_);
  public_key().encrypt_zero(std::span(pointers).subspan(10), random_);
  for (std::size_t i = 0; i < 20; ++i) {
    const BigInt c = ring().read(rows[i]);
    EXPECT_EQ(decrypt(c), BigInt(0));
    EXPECT_NE(c, BigInt(1));
    // All in the group that h generates: or products would tell of how they were made.
    EXPECT_EQ(mpz_jacobi(c % n(), n()), 1);
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(c, ring().read(rows[j]));
  }
}

// What re-randomises a reply must be long enough for eyes that know the factors of n, and no bit of it may be wasted.
TEST_P(PaillierKeys, ReRandomiseWithExponents128BitsLongerThanTheModulus) {
  constexpr std::size_t kCount = 3;
  std::array<std::byte, KeyStream::kKeyBytes> seed{};
  random_.fill(seed);
  Random drawn = Random::derived(seed, {});
  Random again = Random::derived(seed, {});
  Rows rows(ring(), kCount);
  std::vector<Limb*> pointers;
  for (std::size_t i = 0; i < kCount; ++i) pointers.push_back(rows[i]);
  public_key().encrypt_zero(pointers, drawn);
  for (std::size_t i = 0; i < kCount; ++i) {
    std::vector<std::byte> exponent((static_cast<std::size_t>(GetParam().key_bits) + 128) / 8);
    again.fill(exponent);
    EXPECT_EQ(ring().read(rows[i]), power(public_key().h(), BigInt::from_bytes(exponent), n2())) << i;
  }
}

TEST_P(PaillierKeys, AddAndMultiplyUnderEncryption) {
  const std::vector<BigInt> values = plaintexts();
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    const BigInt a = textbook_encryption(values[i]);
    const BigInt b = textbook_encryption(values[i + 1]);
    EXPECT_EQ(decrypt(a * b % n2()) % n(), (values[i] + values[i + 1]) % n());
    EXPECT_EQ(decrypt(power(a, BigInt(12345), n2())) % n(), values[i] * BigInt(12345) % n());
    Rows row(ring(), 1);
    ring().write(row[0], a);
    Limb* pointer = row[0];
    public_key().add({&pointer, 1}, {&values[i + 1], 1});
    EXPECT_EQ(decrypt(ring().read(row[0])) % n(), (values[i] + values[i + 1]) % n());
  }
}

TEST_P(PaillierKeys, RefuseWhatIsNotACiphertext) {
  const SecretVector<std::byte> saved = key().save();
  const auto p = BigInt::from_bytes(ByteView(saved).first(saved.size() / 8));
  const Bytes good = wire(textbook_encryption(7));
  Bytes low_digit_n(good.size());
  n().to_bytes(std::span(low_digit_n).first(ring().digit_bytes()));
  Bytes high_digit_n = good;
  n().to_bytes(std::span(high_digit_n).subspan(ring().digit_bytes()));
  const std::vector<std::pair<const char*, Bytes>> hostile{
      {"0", wire(0)},
      {"n", wire(n())},
      {"a multiple of n", wire(n() * BigInt(5))},
      {"p", wire(p)},
      {"a multiple of p", wire(p * BigInt(123456789))},
      {"p^2", wire(p * p)},
      {"low digit n", low_digit_n},
      {"n^2 or more", high_digit_n},
      {"all ones", Bytes(good.size(), std::byte{0xff})},
  };
  for (const auto& [what, bytes] : hostile) {
    SCOPED_TRACE(what);
    std::vector<BigInt> plaintext(1);
    EXPECT_THROW(key().decrypt(bytes, plaintext), ProtocolError);
    // The party without the key tells too, also when good ones come with it.
    Bytes several = good;
    several.insert(several.end(), bytes.begin(), bytes.end());
    Rows rows(ring(), 2);
    Limb* pointers[] = {rows[0], rows[1]};
    BufferSource in(several);
    EXPECT_THROW(public_key().read(pointers, in, pool_), ProtocolError);
  }
  std::vector<BigInt> plaintext(1);
  EXPECT_THROW(key().decrypt(ByteView(good).first(good.size() - 1), plaintext), ProtocolError);
  Rows rows(ring(), 1);
  Limb* pointer = rows[0];
  BufferSource in(ByteView(good).first(good.size() - 1));
  EXPECT_THROW(public_key().read({&pointer, 1}, in, pool_), ProtocolError);
}

TEST_P(PaillierKeys, WriteAndReadCiphertexts) {
  Rows rows(ring(), 3);
  std::vector<Limb*> pointers{rows[0], rows[1], rows[2]};
  key().encrypt(pointers, std::vector<BigInt>{1, -2, 3}, random_);
  const Bytes bytes = write_to_bytes([&](ByteSink& out) {
    public_key().write(std::vector<const Limb*>(pointers.begin(), pointers.end()), out, pool_);
  });
  Rows again(ring(), 3);
  BufferSource in(bytes);
  public_key().read(std::vector<Limb*>{again[0], again[1], again[2]}, in, pool_);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(ring().read(again[i]), ring().read(rows[i]));
}

TEST_P(PaillierKeys, AreTheSameAfterSavingAndRestoring) {
  const SecretKey again =
      SecretKey::restore(InsecureParams::make(GetParam().key_bits), GetParam().kernels, key().save());
  EXPECT_EQ(again.public_key().encoded(), public_key().encoded());
  std::vector<BigInt> plaintext(1);
  again.decrypt(wire(textbook_encryption(-77)), plaintext);
  EXPECT_EQ(plaintext[0], BigInt(-77));
}

TEST_P(PaillierKeys, AreRefusedWhenDamaged) {
  const Params params = InsecureParams::make(GetParam().key_bits);
  const SecretVector<std::byte> saved = key().save();
  // Of the primes and of n; the base h has no relation to them that could be checked.
  for (const std::size_t at : {std::size_t{0}, saved.size() / 8, saved.size() / 4 + 1}) {
    SecretVector<std::byte> damaged = saved;
    damaged[at] ^= std::byte{0x10};
    EXPECT_THROW((void)SecretKey::restore(params, GetParam().kernels, damaged), DataError);
  }
  EXPECT_THROW((void)SecretKey::restore(params, GetParam().kernels, ByteView(saved).first(10)), DataError);
}

TEST_P(PaillierKeys, ArePublishedInFormsThatAreChecked) {
  const Params params = InsecureParams::make(GetParam().key_bits);
  const Bytes good = public_key().encoded();
  const auto with = [&](const BigInt& modulus, const BigInt& base) {
    Bytes bytes(good.size());
    modulus.to_bytes(std::span(bytes).first(params.key_bytes()));
    (base % modulus).to_bytes(std::span(bytes).subspan(params.key_bytes(), params.key_bytes()));
    (base / modulus).to_bytes(std::span(bytes).subspan(2 * params.key_bytes()));
    return bytes;
  };
  const auto refused = [&](const Bytes& bytes) {
    EXPECT_THROW((void)PublicKey(params, GetParam().kernels, bytes), ProtocolError);
  };
  const BigInt& h = public_key().h();
  EXPECT_NO_THROW((void)PublicKey(params, GetParam().kernels, with(n(), h)));
  refused(Bytes(good.begin(), good.end() - 1));
  refused(with(n() + BigInt(1), h));                                            // even
  refused(with(n() + BigInt(2), h));                                            // 3 modulo 4
  refused(with(n() / BigInt(4) * BigInt(4) / BigInt(8) + BigInt(1), h % n()));  // too short
  refused(with(n(), BigInt(1)));                                                // generates nothing
  refused(with(n(), n() * BigInt(5) + BigInt(1)));                              // generates encryptions of 5, 10, ...
  refused(with(n(), BigInt(0)));                                                // not a unit
  refused(with(n(), n() * BigInt(3)));                                          // not a unit
  BigInt prime = n();
  do {
    mpz_nextprime(prime, prime);
  } while (mpz_fdiv_ui(prime, 4) != 1);
  refused(with(prime, h % (prime * prime)));  // a prime
  Bytes base_too_large = good;
  n().to_bytes(std::span(base_too_large).subspan(params.key_bytes(), params.key_bytes()));
  refused(base_too_large);
}

TEST(PaillierKnownAnswer, IsDecryptedAndReproduced) {
  const BigInt p = from_hex(kP);
  const BigInt q = from_hex(kQ);
  const BigInt n = p * q;
  const BigInt h = from_hex(kH);
  SecretVector<std::byte> saved(2 * 64 + 3 * 128);
  p.to_bytes(std::span(saved).first(64));
  q.to_bytes(std::span(saved).subspan(64, 64));
  n.to_bytes(std::span(saved).subspan(128, 128));
  (h % n).to_bytes(std::span(saved).subspan(256, 128));
  (h / n).to_bytes(std::span(saved).subspan(384));
  Bytes ciphertext(256);
  (from_hex(kC) % n).to_bytes(std::span(ciphertext).first(128));
  (from_hex(kC) / n).to_bytes(std::span(ciphertext).subspan(128));
  BigInt expected;
  mpz_set_str(expected, "-123456789012345678901234567890", 10);
  for (const std::string_view kernels : available_kernels()) {
    const SecretKey key = SecretKey::restore(InsecureParams::make(), kernels, saved);
    std::vector<BigInt> plaintext(1);
    key.decrypt(ciphertext, plaintext);
    EXPECT_EQ(plaintext[0], expected);
  }
}

TEST(PaillierParams, HaveAFloor) {
  EXPECT_NO_THROW(Params({.key_bits = 2048}));
  EXPECT_NO_THROW(Params({.key_bits = 3072}));
  for (const int bits : {0, 1024, 2047, 4096}) {
    EXPECT_EQ(blindfl::testing::message_of<InvalidArgument>([&] { (void)Params({.key_bits = bits}); }),
              "Paillier keys have 2048 or 3072 bits, not " + std::to_string(bits));
  }
}

}  // namespace
}  // namespace blindfl::he::paillier::keys_test
