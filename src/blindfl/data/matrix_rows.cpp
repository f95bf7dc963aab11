#include "blindfl/data/matrix_rows.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "blindfl/base/error.h"

namespace blindfl::data {

namespace {

using Kind = IntMatrix::Kind;
using Column = IntMatrix::Column;

/// Most features are small: half the bytes will do.
bool is_narrow(std::uint64_t bound) {
  return bound <= static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max());
}

template <class T>
void put(T value, Bytes& out) {
  const ByteView bytes = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

template <class T>
T take(ByteView& in) {
  require<DataError>(in.size() >= sizeof(T), "stored rows are damaged: one is cut short");
  T value{};
  std::memcpy(&value, in.data(), sizeof(T));
  in = in.subspan(sizeof(T));
  return value;
}

void put_value(std::int64_t value, bool narrow, Bytes& out) {
  if (narrow) {
    put(static_cast<std::int32_t>(value), out);
  } else {
    put(value, out);
  }
}

}  // namespace

MatrixFormat MatrixFormat::of(const IntMatrix& matrix) {
  return {.kind = matrix.kind(), .cols = matrix.cols(), .scale = matrix.scale(), .bound = matrix.bound()};
}

MatrixRows::MatrixRows(const MatrixFormat& format, std::size_t rows, std::size_t stored) : format_(format) {
  if (format.kind == Kind::kCsr) {
    row_starts_.reserve(rows + 1);
    row_starts_.push_back(0);
  }
  if (format.kind != Kind::kDense) columns_.reserve(format.kind == Kind::kOneHot ? rows : stored);
  if (format.kind != Kind::kOneHot) values_.reserve(stored);
}

void MatrixRows::add(const IntMatrix& from) {
  require<InvalidArgument>(MatrixFormat::of(from) == format_, "rows of matrices of different kinds, columns or bounds");
  for (std::size_t r = 0; r < from.rows(); ++r) {
    if (format_.kind == Kind::kOneHot) columns_.push_back(IntMatrix::kNoColumn);
    from.for_each_in_row(r, [&](std::size_t column, std::int64_t value) {
      if (format_.kind == Kind::kOneHot) columns_.back() = static_cast<Column>(column);
      if (format_.kind == Kind::kCsr) columns_.push_back(static_cast<Column>(column));
      if (format_.kind != Kind::kOneHot) values_.push_back(value);
    });
    if (format_.kind == Kind::kCsr) row_starts_.push_back(columns_.size());
  }
  rows_ += from.rows();
}

void MatrixRows::write_row(const IntMatrix& from, std::size_t row, Bytes& out) {
  const bool narrow = is_narrow(from.bound());
  if (from.kind() == Kind::kOneHot) {
    Column one = IntMatrix::kNoColumn;
    from.for_each_in_row(row, [&](std::size_t column, std::int64_t) { one = static_cast<Column>(column); });
    put(one, out);
    return;
  }
  if (from.kind() == Kind::kCsr) {
    std::uint32_t count = 0;
    from.for_each_in_row(row, [&](std::size_t, std::int64_t) { ++count; });
    put(count, out);
  }
  from.for_each_in_row(row, [&](std::size_t column, std::int64_t value) {
    if (from.kind() == Kind::kCsr) put(static_cast<Column>(column), out);
    put_value(value, narrow, out);
  });
}

std::int64_t MatrixRows::read_value(ByteView& in) const {
  return is_narrow(format_.bound) ? take<std::int32_t>(in) : take<std::int64_t>(in);
}

void MatrixRows::read_row(ByteView& in) {
  switch (format_.kind) {
    case Kind::kOneHot:
      columns_.push_back(take<Column>(in));
      break;
    case Kind::kCsr:
      for (auto left = take<std::uint32_t>(in); left > 0; --left) {
        columns_.push_back(take<Column>(in));
        values_.push_back(read_value(in));
      }
      row_starts_.push_back(columns_.size());
      break;
    case Kind::kDense:
      for (std::size_t c = 0; c < format_.cols; ++c) values_.push_back(read_value(in));
      break;
  }
  ++rows_;
}

IntMatrix MatrixRows::finish(std::size_t padded_rows) {
  const std::size_t rows = std::max(rows_, padded_rows);
  const MatrixFormat format = format_;
  switch (format.kind) {
    case Kind::kOneHot:
      columns_.resize(rows, IntMatrix::kNoColumn);
      return IntMatrix::one_hot(format.cols, std::move(columns_));
    case Kind::kCsr:
      row_starts_.resize(rows + 1, columns_.size());
      return IntMatrix::csr(rows, format.cols, std::move(row_starts_), std::move(columns_), std::move(values_),
                            format.scale, format.bound);
    case Kind::kDense:
      break;
  }
  values_.resize(rows * format.cols);
  return IntMatrix::dense(rows, format.cols, std::move(values_), format.scale, format.bound);
}

std::size_t memory_of(const IntMatrix& matrix) {
  switch (matrix.kind()) {
    case Kind::kOneHot:
      return matrix.rows() * sizeof(Column);
    case Kind::kCsr:
      return (matrix.rows() + 1) * sizeof(std::size_t) + matrix.stored() * (sizeof(Column) + sizeof(std::int64_t));
    case Kind::kDense:
      break;
  }
  return matrix.stored() * sizeof(std::int64_t);
}

}  // namespace blindfl::data
