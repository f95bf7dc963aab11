#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "blindfl/base/int128.h"
#include "blindfl/base/random.h"
#include "blindfl/base/secret.h"

namespace blindfl {

/// A matrix over Z_2^ring_bits(): one party's share of a secret matrix, or a matrix to be shared.
///
/// Each secret value stands for the real `v / 2^scale()`, where `v` is read as a signed number of its ring. Values are
/// kept below 2^ring_bits(): what shares have above that are left-overs of secrets. Its memory is cleared when it is
/// freed.
class ShareMatrix {
 public:
  static constexpr int kMostRingBits = 128;

  ShareMatrix() = default;
  /// All zeros. Throws InvalidArgument if there are more values than can be counted, or if a ring has not from 1 to 128
  /// bits.
  ShareMatrix(std::size_t rows, std::size_t cols, int scale, int ring_bits = kMostRingBits)
      : rows_(rows),
        cols_(cols),
        scale_(scale),
        ring_bits_(checked_ring(ring_bits)),
        values_(checked_count(rows, cols)) {}

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t cols() const { return cols_; }
  [[nodiscard]] int scale() const { return scale_; }
  [[nodiscard]] int ring_bits() const { return ring_bits_; }
  /// Who writes through `values()` or `row()` writes values below 2^ring_bits(), or calls `reduce()` afterwards.
  [[nodiscard]] std::span<UInt128> values() { return values_; }
  [[nodiscard]] std::span<const UInt128> values() const { return values_; }
  [[nodiscard]] std::span<UInt128> row(std::size_t r) { return values().subspan(r * cols_, cols_); }
  [[nodiscard]] std::span<const UInt128> row(std::size_t r) const { return values().subspan(r * cols_, cols_); }

  /// Takes every value modulo 2^ring_bits().
  void reduce();

  /// Throw InvalidArgument if shapes, scales or rings differ.
  ShareMatrix& operator+=(const ShareMatrix& other);
  ShareMatrix& operator-=(const ShareMatrix& other);

  friend ShareMatrix operator+(ShareMatrix a, const ShareMatrix& b) { return std::move(a += b); }
  friend ShareMatrix operator-(ShareMatrix a, const ShareMatrix& b) { return std::move(a -= b); }
  bool operator==(const ShareMatrix& other) const = default;

 private:
  static std::size_t checked_count(std::size_t rows, std::size_t cols);
  static int checked_ring(int ring_bits);

  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  int scale_ = 0;
  int ring_bits_ = kMostRingBits;
  SecretVector<UInt128> values_;
};

/// Uniformly random: a mask.
[[nodiscard]] ShareMatrix random_share(std::size_t rows, std::size_t cols, int scale, Random& random,
                                       int ring_bits = ShareMatrix::kMostRingBits);

/// Two shares of `value`, in its ring, each uniformly random by itself.
[[nodiscard]] std::pair<ShareMatrix, ShareMatrix> split(const ShareMatrix& value, Random& random);

/// The secret: the sum of the two shares.
[[nodiscard]] ShareMatrix open(const ShareMatrix& a, const ShareMatrix& b);

[[nodiscard]] ShareMatrix transpose(const ShareMatrix& m);

/// The columns first, ..., first + count - 1. Throws InvalidArgument if there are fewer.
[[nodiscard]] ShareMatrix select_columns(const ShareMatrix& m, std::size_t first, std::size_t count);
/// Writes `from` into the columns of `to` from `first` on. Throws InvalidArgument if it does not fit there or is
/// of another scale or ring.
void place_columns(ShareMatrix& to, std::size_t first, const ShareMatrix& from);

/// This party's share in a narrower ring (or the same one): always right for a secret that fits there. The peer does
/// the same with its own, without a message. Throws InvalidArgument for a wider ring.
[[nodiscard]] ShareMatrix narrowed(const ShareMatrix& share, int ring_bits);

/// This party's share, read as a signed number of its ring, in the ring of 2^128; the peer does the same with its own,
/// without a message. In the ring of 2^128 nothing changes.
///
/// A secret s is off by 2^ring_bits ("a failed lift") with a probability of |s| / 2^ring_bits, over the choice of the
/// shares: for s + 1 of the 2^ring_bits pairs of shares if s is not negative, for |s| - 1 otherwise. The caller keeps
/// secrets short enough for all lifts of a run together.
[[nodiscard]] ShareMatrix lifted(const ShareMatrix& share);

/// This party's share at another scale; the peer does the same with its own, without a message.
///
/// Upwards by k bits it is exact, in a ring of k bits more, up to 128.
///
/// Downwards by k bits each share is rounded, so that the secret is off by at most one unit of the new scale, unbiased:
/// - in the ring of 2^128 it is read as signed, and stays in that ring. With probability 2^(bits of the secret - 127)
///   the result is garbage: keep secrets below `kMaxRescaleBits`;
/// - in a narrower ring the result is in a ring of k bits less, and never goes wrong. Throws InvalidArgument if no bit
///   would be left.
[[nodiscard]] ShareMatrix rescale(const ShareMatrix& share, int scale);

/// A secret of at most this many bits goes wrong under `rescale` with a probability below 2^-40 per value.
constexpr int kMaxRescaleBits = 87;

/// A public real factor as `mantissa / 2^exponent`: what both parties multiply their shares with.
struct PublicFactor {
  static constexpr int kBits = 24;

  /// The nearest factor with a mantissa of at most 24 bits: within 2^-24 of `x`, relatively. Throws InvalidArgument if
  /// `x` is not finite or is beyond 2^40.
  explicit PublicFactor(double x);
  [[nodiscard]] double value() const;

  std::int64_t mantissa = 0;
  int exponent = 0;
};

/// This party's share of `factor * secret` at the given scale: an exact product, then one rescaling.
/// Throws InvalidArgument in a ring narrower than 2^128.
[[nodiscard]] ShareMatrix multiply_public(const ShareMatrix& share, const PublicFactor& factor, int scale);

/// `round(x * 2^scale)` for each real, row by row, exactly. Throws DataError naming row and column of a value that is
/// not finite or whose magnitude exceeds `largest`.
[[nodiscard]] ShareMatrix encode_ring(std::size_t rows, std::size_t cols, std::span<const double> reals, int scale,
                                      double largest);

/// The reals that an opened matrix stands for, its values read as signed numbers of its ring.
[[nodiscard]] std::vector<double> decode_ring(const ShareMatrix& opened);

}  // namespace blindfl
