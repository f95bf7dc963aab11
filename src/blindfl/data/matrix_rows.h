#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/tensor/int_matrix.h"

namespace blindfl::data {

/// What matrices have in common whose rows may be in one.
struct MatrixFormat {
  IntMatrix::Kind kind = IntMatrix::Kind::kDense;
  std::size_t cols = 0;
  int scale = 0;
  std::uint64_t bound = 0;

  [[nodiscard]] static MatrixFormat of(const IntMatrix& matrix);
  bool operator==(const MatrixFormat&) const = default;
};

/// Rows of a matrix that are gathered one by one, from other matrices or from bytes.
class MatrixRows {
 public:
  /// `rows` and `stored` entries are expected.
  explicit MatrixRows(const MatrixFormat& format, std::size_t rows = 0, std::size_t stored = 0);

  /// All rows of a matrix. Throws InvalidArgument if it has another format.
  void add(const IntMatrix& from);
  /// One row, which `write_row` wrote, from the front of `in`, which gets shorter.
  /// Throws DataError if it is not one.
  void read_row(ByteView& in);

  /// The matrix of these rows, then of rows of zeros up to `padded_rows`. Empty afterwards.
  /// Throws InvalidArgument if a row that was read does not suit the format.
  [[nodiscard]] IntMatrix finish(std::size_t padded_rows = 0);

  /// Appends a row to `out`, for this process to read again: as long as its entries need, and in the order of the
  /// machine's bytes.
  static void write_row(const IntMatrix& from, std::size_t row, Bytes& out);

 private:
  [[nodiscard]] std::int64_t read_value(ByteView& in) const;

  MatrixFormat format_;
  std::size_t rows_ = 0;
  std::vector<std::size_t> row_starts_;  ///< of a sparse matrix
  std::vector<IntMatrix::Column> columns_;
  std::vector<std::int64_t> values_;
};

/// Bytes of memory that a matrix takes.
[[nodiscard]] std::size_t memory_of(const IntMatrix& matrix);

}  // namespace blindfl::data
