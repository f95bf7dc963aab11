#include "blindfl/tensor/int_matrix_builder.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "blindfl/base/error.h"

namespace blindfl {

using Kind = IntMatrix::Kind;

MatrixFormat MatrixFormat::of(const IntMatrix& matrix) {
  return {.kind = matrix.kind(), .cols = matrix.cols(), .scale = matrix.scale(), .bound = matrix.bound()};
}

IntMatrixBuilder::IntMatrixBuilder(const MatrixFormat& format, std::size_t rows, std::size_t stored) : format_(format) {
  if (format.kind == Kind::kCsr) {
    row_starts_.reserve(rows + 1);
    row_starts_.push_back(0);
  }
  if (format.kind != Kind::kDense) columns_.reserve(format.kind == Kind::kOneHot ? rows : stored);
  if (format.kind != Kind::kOneHot) values_.reserve(stored);
}

void IntMatrixBuilder::add(std::size_t column, std::int64_t value) {
  if (format_.kind == Kind::kDense) {
    assert(column < format_.cols);
    if (values_.size() == rows_ * format_.cols) values_.resize((rows_ + 1) * format_.cols);
    values_[rows_ * format_.cols + column] = value;
    return;
  }
  columns_.push_back(static_cast<IntMatrix::Column>(column));
  if (format_.kind == Kind::kCsr) values_.push_back(value);
}

void IntMatrixBuilder::end_row() {
  ++rows_;
  switch (format_.kind) {
    case Kind::kDense:
      values_.resize(rows_ * format_.cols);
      return;
    case Kind::kCsr:
      row_starts_.push_back(columns_.size());
      return;
    case Kind::kOneHot:
      columns_.resize(rows_, IntMatrix::kNoColumn);
  }
}

void IntMatrixBuilder::append(const IntMatrix& from) {
  require<InvalidArgument>(MatrixFormat::of(from) == format_, "rows of matrices of different kinds, columns or bounds");
  for (std::size_t r = 0; r < from.rows(); ++r) {
    from.for_each_in_row(r, [&](std::size_t column, std::int64_t value) { add(column, value); });
    end_row();
  }
}

IntMatrix IntMatrixBuilder::finish(std::size_t padded_rows) {
  const std::size_t rows = std::max(rows_, padded_rows);
  switch (format_.kind) {
    case Kind::kOneHot:
      columns_.resize(rows, IntMatrix::kNoColumn);
      return IntMatrix::one_hot(format_.cols, std::move(columns_));
    case Kind::kCsr:
      row_starts_.resize(rows + 1, columns_.size());
      return IntMatrix::csr(rows, format_.cols, std::move(row_starts_), std::move(columns_), std::move(values_),
                            format_.scale, format_.bound);
    case Kind::kDense:
      break;
  }
  values_.resize(rows * format_.cols);
  return IntMatrix::dense(rows, format_.cols, std::move(values_), format_.scale, format_.bound);
}

}  // namespace blindfl
