#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/base/random.h"
#include "blindfl/base/secret.h"
#include "blindfl/base/thread_pool.h"

// The group that ids are compared in: ristretto255, whose order is a prime, by libsodium. An id becomes a point by a
// hash that anybody can compute; times a secret number it looks like any other point (decisional Diffie-Hellman), and
// numbers of two parties may be multiplied in either order.

namespace blindfl::protocol {

/// An element of ristretto255, as it travels: it has one encoding, so equal elements are equal bytes.
using Point = std::array<std::byte, 32>;
using Points = std::vector<Point>;

/// The ids at `rows`, each hashed to a point: SHA-512 behind a prefix of our own, then libsodium's map. Nothing hides
/// the ids here: such points never travel.
[[nodiscard]] Points hash_to_points(std::span<const std::string> ids, std::span<const std::uint32_t> rows,
                                    ThreadPool& pool);

/// A secret number, not zero, that points are multiplied by. Its memory is cleared when it is freed.
class BlindingKey {
 public:
  /// A fresh one.
  explicit BlindingKey(Random& random);

  /// What multiplies like one after the other.
  [[nodiscard]] BlindingKey operator*(const BlindingKey& other) const;
  /// What undoes this.
  [[nodiscard]] BlindingKey inverse() const;

  /// Each point times this. Cost: about 50 microseconds each. Throws ProtocolError if one is not a point, or the
  /// identity.
  [[nodiscard]] Points multiply(std::span<const Point> points, ThreadPool& pool) const;

 private:
  BlindingKey() = default;
  SecretVector<std::byte> number_;
};

/// Throws ProtocolError, calling them `what`, if one of these is not a point, or is the identity, which hides nothing.
void check_points(std::span<const Point> points, std::string_view what, ThreadPool& pool);
/// Throws ProtocolError, calling them `what`, if two of these are equal.
void check_distinct(std::span<const Point> points, std::string_view what);

}  // namespace blindfl::protocol
