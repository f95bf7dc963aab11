#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/base/party.h"
#include "blindfl/base/random.h"
#include "blindfl/base/secret.h"
#include "blindfl/share/share_matrix.h"

// Matrices over Z_2^64 in half of a ShareMatrix' memory: shares, masks and openings of SecureML. A number x stands
// there as round(x 2^kFractionBits).

namespace blindfl::lab::secureml {

/// As SecureML has it. A product has twice as many; cutting these off fails with a chance of 2^(bits of the product + 1
/// - 64) for each value, so that products of up to 2^8 with 13 bits fail once in 2^29, and with 20 bits once in 2^15.
constexpr int kFractionBits = 13;

/// A matrix of words, row by row. Its memory is cleared when it is freed.
class Words {
 public:
  Words() = default;
  /// All zeros.
  Words(std::size_t rows, std::size_t cols) : rows_(rows), cols_(cols), values_(rows * cols) {}
  Words(const Words&) = default;
  Words& operator=(const Words&) = default;
  /// What was moved is 0 x 0.
  Words(Words&& other) noexcept
      : rows_(std::exchange(other.rows_, 0)),
        cols_(std::exchange(other.cols_, 0)),
        values_(std::exchange(other.values_, {})) {}
  Words& operator=(Words&& other) noexcept {
    rows_ = std::exchange(other.rows_, 0);
    cols_ = std::exchange(other.cols_, 0);
    values_ = std::exchange(other.values_, {});
    return *this;
  }
  ~Words() = default;

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t cols() const { return cols_; }
  [[nodiscard]] std::span<std::uint64_t> values() { return values_; }
  [[nodiscard]] std::span<const std::uint64_t> values() const { return values_; }
  [[nodiscard]] std::span<std::uint64_t> row(std::size_t r) { return values().subspan(r * cols_, cols_); }
  [[nodiscard]] std::span<const std::uint64_t> row(std::size_t r) const { return values().subspan(r * cols_, cols_); }
  /// As they travel.
  [[nodiscard]] ByteView bytes() const { return std::as_bytes(values()); }
  [[nodiscard]] static Words from_bytes(std::size_t rows, std::size_t cols, ByteView bytes);

  /// Throw InvalidArgument if shapes differ.
  Words& operator+=(const Words& other);
  Words& operator-=(const Words& other);
  friend Words operator+(Words a, const Words& b) { return std::move(a += b); }
  friend Words operator-(Words a, const Words& b) { return std::move(a -= b); }
  bool operator==(const Words&) const = default;

 private:
  void require_shape(const Words& other) const;

  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  SecretVector<std::uint64_t> values_;
};

/// Uniformly random.
[[nodiscard]] Words random_words(std::size_t rows, std::size_t cols, Random& random);
[[nodiscard]] Words transpose(const Words& m);
/// The given rows in the given order. Throws InvalidArgument if there are fewer.
[[nodiscard]] Words select_rows(const Words& m, std::span<const std::uint32_t> rows);
/// 0, 1, ..., rows - 1.
[[nodiscard]] std::vector<std::uint32_t> all_rows(std::size_t rows);
/// The one above the other. Throws InvalidArgument if they have other numbers of columns.
[[nodiscard]] Words stacked(const Words& above, const Words& below);

/// Some rows of a matrix, in this order, without a copy: both must outlive it.
struct RowsOf {
  const Words& m;
  std::span<const std::uint32_t> rows;
};
/// `a b`, and `transpose(a) b` without making the transpose. Throw InvalidArgument if shapes do not fit or a row does
/// not exist.
[[nodiscard]] Words multiply(const RowsOf& a, const Words& b);
[[nodiscard]] Words multiply_transposed(const RowsOf& a, const Words& b);
[[nodiscard]] Words multiply_transposed(const Words& a, const Words& b);

/// This party's share without the lowest `bits`, as SecureML does it: each party cuts its own off, A rounding down and
/// B up. They add up to the number without them, rounded at random to one of its two neighbours, and right in the mean;
/// or, with a chance of 2^(bits of the number + 1 - 64), to garbage. No message. `bits` from 0 to 63.
[[nodiscard]] Words truncated(Words share, int bits, Party party);

/// Numbers as words with `kFractionBits`, row by row, and back. Throws InvalidArgument for another number of them,
/// DataError for one that is not finite or is beyond 2^32.
[[nodiscard]] Words encode(std::size_t rows, std::size_t cols, std::span<const double> reals);
[[nodiscard]] std::vector<double> decode(const Words& m);

/// Two shares of it, each uniformly random by itself.
[[nodiscard]] std::pair<Words, Words> split(const Words& m, Random& random);

/// The same numbers as shares of the house, modulo 2^64; and these as words. The latter throws InvalidArgument for a
/// narrower ring.
[[nodiscard]] ShareMatrix to_shares(const Words& m, int scale);
[[nodiscard]] Words to_words(const ShareMatrix& m);

}  // namespace blindfl::lab::secureml
