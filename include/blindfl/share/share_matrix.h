#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "blindfl/base/int128.h"
#include "blindfl/base/random.h"
#include "blindfl/base/secret.h"

namespace blindfl {

/// A matrix over Z_2^128: one party's share of a secret matrix, or a matrix to be shared.
///
/// Each secret value stands for the real `v / 2^scale()`, where `v` is read as a signed number. Its memory is cleared
/// when it is freed.
class ShareMatrix {
 public:
  ShareMatrix() = default;
  /// All zeros. Throws InvalidArgument if there are more values than can be counted.
  ShareMatrix(std::size_t rows, std::size_t cols, int scale)
      : rows_(rows), cols_(cols), scale_(scale), values_(checked_count(rows, cols)) {}

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t cols() const { return cols_; }
  [[nodiscard]] int scale() const { return scale_; }
  [[nodiscard]] std::span<UInt128> values() { return values_; }
  [[nodiscard]] std::span<const UInt128> values() const { return values_; }
  [[nodiscard]] std::span<UInt128> row(std::size_t r) { return values().subspan(r * cols_, cols_); }
  [[nodiscard]] std::span<const UInt128> row(std::size_t r) const { return values().subspan(r * cols_, cols_); }

  /// Throw InvalidArgument if shapes or scales differ.
  ShareMatrix& operator+=(const ShareMatrix& other);
  ShareMatrix& operator-=(const ShareMatrix& other);

  friend ShareMatrix operator+(ShareMatrix a, const ShareMatrix& b) { return std::move(a += b); }
  friend ShareMatrix operator-(ShareMatrix a, const ShareMatrix& b) { return std::move(a -= b); }
  bool operator==(const ShareMatrix& other) const = default;

 private:
  static std::size_t checked_count(std::size_t rows, std::size_t cols);

  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  int scale_ = 0;
  SecretVector<UInt128> values_;
};

/// Uniformly random: a mask.
[[nodiscard]] ShareMatrix random_share(std::size_t rows, std::size_t cols, int scale, Random& random);

/// Two shares of `value`, each uniformly random by itself.
[[nodiscard]] std::pair<ShareMatrix, ShareMatrix> split(const ShareMatrix& value, Random& random);

/// The secret: the sum of the two shares.
[[nodiscard]] ShareMatrix open(const ShareMatrix& a, const ShareMatrix& b);

[[nodiscard]] ShareMatrix transpose(const ShareMatrix& m);

/// The columns first, ..., first + count - 1. Throws InvalidArgument if there are fewer.
[[nodiscard]] ShareMatrix select_columns(const ShareMatrix& m, std::size_t first, std::size_t count);
/// Writes `from` into the columns of `to` from `first` on. Throws InvalidArgument if it does not fit there.
void place_columns(ShareMatrix& to, std::size_t first, const ShareMatrix& from);

/// This party's share at another scale; the peer does the same with its own, without a message.
///
/// Upwards it is exact. Downwards by k bits each share is read as signed and rounded, so that the secret is off by at
/// most one unit of the new scale, unbiased. With probability 2^(bits of the secret - 127) the result is garbage:
/// keep secrets below `kMaxRescaleBits`.
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
[[nodiscard]] ShareMatrix multiply_public(const ShareMatrix& share, const PublicFactor& factor, int scale);

/// `round(x * 2^scale)` for each real, row by row, exactly. Throws DataError naming row and column of a value that is
/// not finite or whose magnitude exceeds `largest`.
[[nodiscard]] ShareMatrix encode_ring(std::size_t rows, std::size_t cols, std::span<const double> reals, int scale,
                                      double largest);

/// The reals that an opened matrix stands for.
[[nodiscard]] std::vector<double> decode_ring(const ShareMatrix& opened);

}  // namespace blindfl
