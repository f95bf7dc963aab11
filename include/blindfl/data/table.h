#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "blindfl/tensor/int_matrix.h"

namespace blindfl::data {

/// A table of finite reals, dense or sparse, with a label for each row or with none at all.
class Table {
 public:
  enum class Kind { kDense, kCsr };
  using Column = IntMatrix::Column;

  /// An empty table, 0 x 0.
  Table() = default;

  /// `values` row by row.
  /// Throws InvalidArgument if their number is not rows * cols, if there are labels but not one for each row, or if
  /// a value or a label is not finite.
  static Table dense(std::size_t rows, std::size_t cols, std::vector<double> values, std::vector<double> labels = {});
  /// Compressed rows: row r holds `columns[i]`, `values[i]` for row_starts[r] <= i < row_starts[r + 1], columns
  /// ascending. Throws InvalidArgument if the parts do not fit together, or as `dense()` does.
  static Table csr(std::size_t rows, std::size_t cols, std::vector<std::size_t> row_starts, std::vector<Column> columns,
                   std::vector<double> values, std::vector<double> labels = {});

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t cols() const { return cols_; }
  /// Stored entries: all of a dense table.
  [[nodiscard]] std::size_t stored() const { return values_.size(); }
  /// One for each row, or empty.
  [[nodiscard]] const std::vector<double>& labels() const { return labels_; }

  /// Calls `f(column, value)` for the stored entries of a row, columns ascending.
  template <class F>
  void for_each_in_row(std::size_t row, F&& f) const {
    if (kind_ == Kind::kDense) {
      for (std::size_t c = 0; c < cols_; ++c) f(c, values_[row * cols_ + c]);
    } else {
      for (std::size_t i = row_starts_[row]; i < row_starts_[row + 1]; ++i) {
        f(static_cast<std::size_t>(columns_[i]), values_[i]);
      }
    }
  }

  /// The given rows in the given order, with their labels; a row may be given more than once.
  /// Throws InvalidArgument if a row does not exist.
  [[nodiscard]] Table select_rows(std::span<const std::uint32_t> rows) const;

  /// The same features with other labels, or with none.
  /// Throws InvalidArgument if there are labels but not one finite number for each row.
  [[nodiscard]] Table with_labels(std::vector<double> labels) const;

  /// The features as integers, dense or CSR as the table is.
  /// Throws DataError naming row and column of a value that `encoding` has no room for.
  [[nodiscard]] IntMatrix encode(const FixedPoint& encoding) const;
  /// All values, row by row, for models that train in the clear.
  [[nodiscard]] std::vector<float> to_dense() const;

 private:
  Table(Kind kind, std::size_t rows, std::size_t cols) : kind_(kind), rows_(rows), cols_(cols) {}

  Kind kind_ = Kind::kDense;
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  // Only in a sparse table.
  std::vector<std::size_t> row_starts_;
  std::vector<Column> columns_;
  std::vector<double> values_;
  std::vector<double> labels_;
};

}  // namespace blindfl::data
