#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "blindfl/tensor/fixed_point.h"

namespace blindfl {

/// A matrix of bounded integers: features, one-hot rows, derivatives. The left operand of every product.
///
/// Each value `v` stands for the real `v / 2^scale()`, and `|v| <= bound()`. Immutable; copies share their storage.
class IntMatrix {
 public:
  enum class Kind { kDense, kCsr, kOneHot };
  using Column = std::uint32_t;
  /// In a one-hot matrix: a row without a one.
  static constexpr Column kNoColumn = ~Column{0};

  /// An empty matrix, 0 x 0.
  IntMatrix();

  /// `values` row by row. Throws InvalidArgument if their number is not rows * cols or one exceeds `bound`.
  static IntMatrix dense(std::size_t rows, std::size_t cols, std::vector<std::int64_t> values, int scale,
                         std::uint64_t bound);
  /// Compressed rows: row r holds `columns[i]`, `values[i]` for row_starts[r] <= i < row_starts[r + 1], columns
  /// ascending. Throws InvalidArgument if the parts do not fit together or a value exceeds `bound`.
  static IntMatrix csr(std::size_t rows, std::size_t cols, std::vector<std::size_t> row_starts,
                       std::vector<Column> columns, std::vector<std::int64_t> values, int scale, std::uint64_t bound);
  /// Row r is 1 at column ones[r] and 0 elsewhere, or all 0 at `kNoColumn`. Scale 0, bound 1.
  static IntMatrix one_hot(std::size_t cols, std::vector<Column> ones);

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t cols() const { return cols_; }
  [[nodiscard]] int scale() const { return scale_; }
  [[nodiscard]] std::uint64_t bound() const { return bound_; }
  /// Stored entries: all of a dense matrix.
  [[nodiscard]] std::size_t stored() const;

  /// Calls `f(column, value)` for the stored entries of a row, columns ascending.
  template <class F>
  void for_each_in_row(std::size_t row, F&& f) const {
    const Storage& s = *storage_;
    switch (kind_) {
      case Kind::kDense:
        for (std::size_t c = 0; c < cols_; ++c) f(c, s.values[row * cols_ + c]);
        return;
      case Kind::kCsr:
        for (std::size_t i = s.row_starts[row]; i < s.row_starts[row + 1]; ++i) {
          f(static_cast<std::size_t>(s.columns[i]), s.values[i]);
        }
        return;
      case Kind::kOneHot:
        if (s.columns[row] != kNoColumn) f(static_cast<std::size_t>(s.columns[row]), std::int64_t{1});
        return;
    }
  }

  /// The values of a row of a dense matrix.
  [[nodiscard]] std::span<const std::int64_t> dense_row(std::size_t row) const {
    assert(kind_ == Kind::kDense);
    return std::span(storage_->values).subspan(row * cols_, cols_);
  }

  /// All values, row by row: for tests and small matrices.
  [[nodiscard]] std::vector<std::int64_t> to_dense() const;

  /// Dense stays dense; the other kinds become CSR.
  [[nodiscard]] IntMatrix transpose() const;

  /// The given rows in the given order, then rows of zeros up to `padded_rows` (no padding if that is smaller).
  /// Throws InvalidArgument if a row does not exist.
  [[nodiscard]] IntMatrix select_rows(std::span<const std::uint32_t> rows, std::size_t padded_rows = 0) const;

 private:
  struct Storage {
    std::vector<std::size_t> row_starts;
    std::vector<Column> columns;
    std::vector<std::int64_t> values;
  };
  IntMatrix(Kind kind, std::size_t rows, std::size_t cols, int scale, std::uint64_t bound, Storage storage);
  /// The same kind, columns, scale and bound with other rows.
  [[nodiscard]] IntMatrix with_rows(std::size_t rows, Storage storage) const;

  Kind kind_;
  std::size_t rows_;
  std::size_t cols_;
  int scale_;
  std::uint64_t bound_;
  std::shared_ptr<const Storage> storage_;
};

/// Encodes reals, row by row. Throws DataError naming row and column of a value that cannot be encoded.
[[nodiscard]] IntMatrix encode_dense(const FixedPoint& encoding, std::size_t rows, std::size_t cols,
                                     std::span<const double> values);
/// Encodes the stored values of a CSR matrix of reals.
[[nodiscard]] IntMatrix encode_csr(const FixedPoint& encoding, std::size_t rows, std::size_t cols,
                                   std::vector<std::size_t> row_starts, std::vector<IntMatrix::Column> columns,
                                   std::span<const double> values);

}  // namespace blindfl
