#include "blindfl/ot/base_ot.h"

#include <sodium.h>

#include <algorithm>
#include <array>

#include "blindfl/base/error.h"

namespace blindfl::ot {

namespace {

constexpr std::size_t kScalarBytes = crypto_core_ristretto255_SCALARBYTES;
static_assert(kPointBytes == crypto_core_ristretto255_BYTES);

using Point = std::array<unsigned char, kPointBytes>;

unsigned char* raw(std::byte* bytes) {
  return reinterpret_cast<unsigned char*>(bytes);
}
const unsigned char* raw(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

// libsodium chooses its code for this processor once, whoever asks first.
void start_libsodium() {
  static const bool started = sodium_init() >= 0;
  require<Error>(started, "libsodium cannot start on this machine");
}

/// Not zero, and even to 2^-250: from twice as many bytes as the group's order has.
void draw_scalar(Random& random, std::byte* out) {
  SecretVector<std::byte> wide(crypto_core_ristretto255_NONREDUCEDSCALARBYTES);
  do {
    random.fill(wide);
    crypto_core_ristretto255_scalar_reduce(raw(out), raw(wide.data()));
  } while (sodium_is_zero(raw(out), kScalarBytes) != 0);
}

/// A point whose logarithm nobody knows, this party neither.
Point draw_point(Random& random) {
  SecretVector<std::byte> seed(crypto_core_ristretto255_HASHBYTES);
  random.fill(seed);
  Point point;
  crypto_core_ristretto255_from_hash(point.data(), raw(seed.data()));
  return point;
}

/// SHA-512 or SHA-256 over the session, what it is for, the index of the OT, the role, and some points.
template <class State, auto Init, auto Update, auto Final, std::size_t kBytes>
std::array<unsigned char, kBytes> hash_points(const OtSession& session, std::string_view purpose, std::size_t index,
                                              unsigned char role, std::initializer_list<const unsigned char*> points) {
  const std::array<unsigned char, 2> numbers = {static_cast<unsigned char>(index), role};
  static_assert(kBaseOts <= 256);
  State state;
  Init(&state);
  Update(&state, raw(session.digest().data()), session.digest().size());
  Update(&state, reinterpret_cast<const unsigned char*>(purpose.data()), purpose.size());
  Update(&state, numbers.data(), numbers.size());
  for (const unsigned char* point : points) Update(&state, point, kPointBytes);
  std::array<unsigned char, kBytes> hash;
  Final(&state, hash.data());
  sodium_memzero(&state, sizeof state);
  return hash;
}

/// H of the header. The role may be secret; the time is the same for both.
Point shift_point(const OtSession& session, std::size_t index, unsigned char role, const unsigned char* other) {
  auto hash =
      hash_points<crypto_hash_sha512_state, crypto_hash_sha512_init, crypto_hash_sha512_update,
                  crypto_hash_sha512_final, crypto_hash_sha512_BYTES>(session, "base point", index, role, {other});
  static_assert(sizeof hash == crypto_core_ristretto255_HASHBYTES);
  Point point;
  crypto_core_ristretto255_from_hash(point.data(), hash.data());
  sodium_memzero(hash.data(), hash.size());
  return point;
}

Block derive_key(const OtSession& session, std::size_t index, unsigned char role, const unsigned char* sender_point,
                 const unsigned char* receiver_point, const unsigned char* shared) {
  auto hash = hash_points<crypto_hash_sha256_state, crypto_hash_sha256_init, crypto_hash_sha256_update,
                          crypto_hash_sha256_final, crypto_hash_sha256_BYTES>(session, "base key", index, role,
                                                                              {sender_point, receiver_point, shared});
  Block key;
  std::memcpy(&key, hash.data(), sizeof key);
  sodium_memzero(hash.data(), hash.size());
  return key;
}

/// a where `bit` is 0, b where it is 1, without a branch.
void select(unsigned char* out, unsigned char bit, const unsigned char* a, const unsigned char* b) {
  const auto mask = static_cast<unsigned char>(0 - bit);
  for (std::size_t i = 0; i < kPointBytes; ++i) out[i] = static_cast<unsigned char>(a[i] ^ ((a[i] ^ b[i]) & mask));
}

void require_point(const unsigned char* point) {
  require<ProtocolError>(crypto_core_ristretto255_is_valid_point(point) == 1 && sodium_is_zero(point, kPointBytes) == 0,
                         "oblivious transfer: one of the peer's base points is no point of the group, or its identity");
}

/// a P_j, and P_j itself.
struct Agreed {
  Point receiver_point;
  Point shared;
};

Agreed agree(const OtSession& session, std::size_t index, unsigned char role, const unsigned char* own,
             const unsigned char* other, const unsigned char* number) {
  const Point shift = shift_point(session, index, role, other);
  Agreed agreed;
  const bool added = crypto_core_ristretto255_add(agreed.receiver_point.data(), own, shift.data()) == 0;
  // libsodium refuses the identity as a result.
  require<ProtocolError>(
      added && crypto_scalarmult_ristretto255(agreed.shared.data(), number, agreed.receiver_point.data()) == 0,
      "oblivious transfer: one of the peer's base points is no point of the group, or its identity");
  return agreed;
}

}  // namespace

BaseOtSender::BaseOtSender(const OtSession& session, Random& random)
    : session_(session), number_(kScalarBytes), point_(kPointBytes) {
  start_libsodium();
  draw_scalar(random, number_.data());
  require<Error>(crypto_scalarmult_ristretto255_base(raw(point_.data()), raw(number_.data())) == 0,
                 "libsodium cannot multiply");
}

BaseKeyPairs BaseOtSender::keys(ByteView receiver_message) const {
  require<ProtocolError>(receiver_message.size() == kBaseReceiverBytes, "oblivious transfer: ", receiver_message.size(),
                         " bytes of base points, not ", kBaseReceiverBytes);
  const unsigned char* points = raw(receiver_message.data());
  for (std::size_t i = 0; i < 2 * kBaseOts; ++i) require_point(points + i * kPointBytes);
  BaseKeyPairs keys{SecretBlocks(kBaseOts), SecretBlocks(kBaseOts)};
  for (std::size_t i = 0; i < kBaseOts; ++i) {
    const unsigned char* pair = points + 2 * i * kPointBytes;
    for (unsigned char role = 0; role < 2; ++role) {
      Agreed agreed =
          agree(session_, i, role, pair + role * kPointBytes, pair + (1 - role) * kPointBytes, raw(number_.data()));
      (role == 0 ? keys.zero : keys.one)[i] =
          derive_key(session_, i, role, raw(point_.data()), agreed.receiver_point.data(), agreed.shared.data());
      sodium_memzero(&agreed, sizeof agreed);
    }
  }
  return keys;
}

BaseOtReceiver::BaseOtReceiver(const OtSession& session, const Block& choices, Random& random)
    : session_(session),
      choices_(choices),
      numbers_(kBaseOts * kScalarBytes),
      own_(kBaseOts * kPointBytes),
      points_(kBaseReceiverBytes) {
  start_libsodium();
  for (std::size_t i = 0; i < kBaseOts; ++i) {
    std::byte* const number = numbers_.data() + i * kScalarBytes;
    unsigned char* const own = raw(own_.data() + i * kPointBytes);
    draw_scalar(random, number);
    require<Error>(crypto_scalarmult_ristretto255_base(own, raw(number)) == 0, "libsodium cannot multiply");
    Point other = draw_point(random);
    const auto choice = static_cast<unsigned char>(choices.bit(static_cast<int>(i)));
    Point shift = shift_point(session_, i, choice, other.data());
    Point chosen;
    require<Error>(crypto_core_ristretto255_sub(chosen.data(), own, shift.data()) == 0, "libsodium cannot subtract");
    unsigned char* const pair = raw(points_.data() + 2 * i * kPointBytes);
    select(pair, choice, chosen.data(), other.data());
    select(pair + kPointBytes, choice, other.data(), chosen.data());
    sodium_memzero(other.data(), other.size());
    sodium_memzero(chosen.data(), chosen.size());
    sodium_memzero(shift.data(), shift.size());
  }
}

SecretBlocks BaseOtReceiver::keys(ByteView sender_message) const {
  require<ProtocolError>(sender_message.size() == kPointBytes, "oblivious transfer: ", sender_message.size(),
                         " bytes of a base point, not ", kPointBytes);
  const unsigned char* const point = raw(sender_message.data());
  require_point(point);
  SecretBlocks keys(kBaseOts);
  for (std::size_t i = 0; i < kBaseOts; ++i) {
    Point shared;
    require<ProtocolError>(
        crypto_scalarmult_ristretto255(shared.data(), raw(numbers_.data() + i * kScalarBytes), point) == 0,
        "oblivious transfer: the peer's base point is no point of the group, or its identity");
    const auto choice = static_cast<unsigned char>(choices_.bit(static_cast<int>(i)));
    keys[i] = derive_key(session_, i, choice, point, raw(own_.data() + i * kPointBytes), shared.data());
    sodium_memzero(shared.data(), shared.size());
  }
  return keys;
}

}  // namespace blindfl::ot
