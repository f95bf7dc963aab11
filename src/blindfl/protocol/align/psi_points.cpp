#include "blindfl/protocol/align/psi_points.h"

#include <algorithm>
#include <atomic>

#include "blindfl/base/bytes.h"
#include "blindfl/base/error.h"
#include "blindfl/protocol/align/sodium_bytes.h"

namespace blindfl::protocol {

namespace {

// Tells these points from all that others may make of the same ids.
constexpr std::string_view kDomain = "BlindFL alignment 1: ";
// A piece of work for a thread: about a millisecond.
constexpr std::size_t kGrain = 16;
constexpr std::size_t kScalarBytes = crypto_core_ristretto255_SCALARBYTES;

static_assert(sizeof(Point) == crypto_core_ristretto255_BYTES);

Point hash_to_point(std::string_view id) {
  std::array<unsigned char, crypto_hash_sha512_BYTES> hash{};
  static_assert(sizeof hash == crypto_core_ristretto255_HASHBYTES);
  crypto_hash_sha512_state state;
  crypto_hash_sha512_init(&state);
  crypto_hash_sha512_update(&state, raw(kDomain), kDomain.size());
  crypto_hash_sha512_update(&state, raw(id), id.size());
  crypto_hash_sha512_final(&state, hash.data());
  Point point;
  require<Error>(crypto_core_ristretto255_from_hash(raw(point.data()), hash.data()) == 0,
                 "libsodium cannot make a point of a hash");
  return point;
}

bool is_identity(const Point& point) {
  return std::ranges::all_of(point, [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

Points hash_to_points(std::span<const std::string> ids, std::span<const std::uint32_t> rows, ThreadPool& pool) {
  start_libsodium();
  Points points(rows.size());
  pool.parallel_for(rows.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) points[i] = hash_to_point(ids[rows[i]]);
  });
  return points;
}

BlindingKey::BlindingKey(Random& random) : number_(kScalarBytes) {
  start_libsodium();
  // Twice as long as the group's order: what is left of it is even to 2^-250.
  SecretVector<std::byte> wide(crypto_core_ristretto255_NONREDUCEDSCALARBYTES);
  do {
    random.fill(wide);
    crypto_core_ristretto255_scalar_reduce(raw(number_.data()), raw(wide.data()));
  } while (sodium_is_zero(raw(number_.data()), number_.size()) != 0);
}

BlindingKey BlindingKey::operator*(const BlindingKey& other) const {
  BlindingKey product;
  product.number_.resize(kScalarBytes);
  crypto_core_ristretto255_scalar_mul(raw(product.number_.data()), raw(number_.data()), raw(other.number_.data()));
  return product;
}

BlindingKey BlindingKey::inverse() const {
  BlindingKey inverse;
  inverse.number_.resize(kScalarBytes);
  require<Error>(crypto_core_ristretto255_scalar_invert(raw(inverse.number_.data()), raw(number_.data())) == 0,
                 "a blinding key has no inverse");
  return inverse;
}

Points BlindingKey::multiply(std::span<const Point> points, ThreadPool& pool) const {
  Points products(points.size());
  pool.parallel_for(points.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const int failed =
          crypto_scalarmult_ristretto255(raw(products[i].data()), raw(number_.data()), raw(points[i].data()));
      require<ProtocolError>(failed == 0, "a blinded id is not a point of the group, or its identity");
    }
  });
  return products;
}

void check_points(std::span<const Point> points, std::string_view what, ThreadPool& pool) {
  start_libsodium();
  pool.parallel_for(points.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (const Point& point : points.subspan(begin, end - begin)) {
      require<ProtocolError>(crypto_core_ristretto255_is_valid_point(raw(point.data())) == 1 && !is_identity(point),
                             "the peer's ", what, " are not all points of the group, or one is its identity");
    }
  });
}

void check_distinct(std::span<const Point> points, std::string_view what) {
  // Sorted and not hashed: a peer who chooses the points cannot make this slow.
  Points sorted(points.begin(), points.end());
  std::ranges::sort(sorted);
  require<ProtocolError>(std::ranges::adjacent_find(sorted) == sorted.end(), "some of the peer's ", what,
                         " are equal: each must come once");
}

}  // namespace blindfl::protocol
