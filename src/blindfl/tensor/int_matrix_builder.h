#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "blindfl/tensor/int_matrix.h"

namespace blindfl {

/// What matrices have in common whose rows may be in one.
struct MatrixFormat {
  IntMatrix::Kind kind = IntMatrix::Kind::kDense;
  std::size_t cols = 0;
  int scale = 0;
  std::uint64_t bound = 0;

  [[nodiscard]] static MatrixFormat of(const IntMatrix& matrix);
  bool operator==(const MatrixFormat&) const = default;
};

/// A matrix whose rows come one after the other: entry by entry, or from other matrices.
class IntMatrixBuilder {
 public:
  /// `rows` and `stored` entries are expected.
  explicit IntMatrixBuilder(const MatrixFormat& format, std::size_t rows = 0, std::size_t stored = 0);

  [[nodiscard]] const MatrixFormat& format() const { return format_; }

  /// An entry of the current row, columns ascending; what is not said is 0, and of a sparse matrix not stored.
  /// The column must exist in a dense matrix; the other kinds, and values, are checked by `finish()`.
  void add(std::size_t column, std::int64_t value);
  void end_row();
  /// All rows of a matrix. Throws InvalidArgument if it has another format.
  void append(const IntMatrix& from);
  /// Entries of the current row, if the matrix is sparse.
  [[nodiscard]] std::size_t stored_in_row() const { return columns_.size() - row_starts_.back(); }

  /// The matrix of these rows, then of rows of zeros up to `padded_rows`. Once, and last.
  /// Throws InvalidArgument if a row does not suit the format.
  [[nodiscard]] IntMatrix finish(std::size_t padded_rows = 0);

 private:
  MatrixFormat format_;
  std::size_t rows_ = 0;
  std::vector<std::size_t> row_starts_;  ///< of a sparse matrix
  std::vector<IntMatrix::Column> columns_;
  std::vector<std::int64_t> values_;
};

}  // namespace blindfl
