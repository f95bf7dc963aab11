#include "blindfl/tensor/int_matrix.h"

#include <algorithm>
#include <utility>

#include "blindfl/base/error.h"

namespace blindfl {

namespace {

std::uint64_t magnitude(std::int64_t v) {
  return v < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v);
}

void check_frame(std::size_t cols, int scale, std::uint64_t bound) {
  require<InvalidArgument>(cols < IntMatrix::kNoColumn, "matrix: ", cols, " columns are too many");
  require<InvalidArgument>(scale >= 0 && scale <= FixedPoint::kMaxScale, "matrix: a scale of ", scale,
                           " fractional bits is not between 0 and ", FixedPoint::kMaxScale);
  require<InvalidArgument>(bound <= FixedPoint::kMaxBound, "matrix: a bound must be at most 2^62");
}

void check_value(std::int64_t value, std::uint64_t bound, std::size_t row, std::size_t col) {
  require<InvalidArgument>(magnitude(value) <= bound, "matrix: the value at row ", row, ", column ", col,
                           " exceeds the matrix's bound");
}

}  // namespace

IntMatrix::IntMatrix() : IntMatrix(Kind::kDense, 0, 0, 0, 0, {}) {}

IntMatrix::IntMatrix(Kind kind, std::size_t rows, std::size_t cols, int scale, std::uint64_t bound, Storage storage)
    : kind_(kind),
      rows_(rows),
      cols_(cols),
      scale_(scale),
      bound_(bound),
      storage_(std::make_shared<const Storage>(std::move(storage))) {}

IntMatrix IntMatrix::with_rows(std::size_t rows, Storage storage) const {
  return {kind_, rows, cols_, scale_, bound_, std::move(storage)};
}

IntMatrix IntMatrix::dense(std::size_t rows, std::size_t cols, std::vector<std::int64_t> values, int scale,
                           std::uint64_t bound) {
  check_frame(cols, scale, bound);
  require<InvalidArgument>(cols == 0 ? values.empty() : values.size() / cols == rows && values.size() % cols == 0,
                           "dense matrix: ", values.size(), " values do not make ", rows, " x ", cols);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < cols; ++c) check_value(values[r * cols + c], bound, r, c);
  }
  return {Kind::kDense, rows, cols, scale, bound, {.row_starts = {}, .columns = {}, .values = std::move(values)}};
}

IntMatrix IntMatrix::csr(std::size_t rows, std::size_t cols, std::vector<std::size_t> row_starts,
                         std::vector<Column> columns, std::vector<std::int64_t> values, int scale,
                         std::uint64_t bound) {
  check_frame(cols, scale, bound);
  require<InvalidArgument>(!row_starts.empty() && row_starts.size() - 1 == rows && row_starts.front() == 0 &&
                               row_starts.back() == columns.size() && columns.size() == values.size(),
                           "sparse matrix: row starts, columns and values do not fit ", rows, " rows");
  for (std::size_t r = 0; r < rows; ++r) {
    require<InvalidArgument>(row_starts[r] <= row_starts[r + 1] && row_starts[r + 1] <= columns.size(),
                             "sparse matrix: the row starts are not ascending at row ", r);
    for (std::size_t i = row_starts[r]; i < row_starts[r + 1]; ++i) {
      require<InvalidArgument>(columns[i] < cols, "sparse matrix: row ", r, " has a column beyond ", cols);
      require<InvalidArgument>(i == row_starts[r] || columns[i - 1] < columns[i], "sparse matrix: the columns of row ",
                               r, " are not ascending");
      check_value(values[i], bound, r, columns[i]);
    }
  }
  return {Kind::kCsr, rows, cols, scale, bound, {std::move(row_starts), std::move(columns), std::move(values)}};
}

IntMatrix IntMatrix::one_hot(std::size_t cols, std::vector<Column> ones) {
  check_frame(cols, 0, 1);
  for (std::size_t r = 0; r < ones.size(); ++r) {
    require<InvalidArgument>(ones[r] < cols || ones[r] == kNoColumn, "one-hot matrix: row ", r, " has a column beyond ",
                             cols);
  }
  const std::size_t rows = ones.size();
  return {Kind::kOneHot, rows, cols, 0, 1, {.row_starts = {}, .columns = std::move(ones), .values = {}}};
}

std::size_t IntMatrix::stored() const {
  return kind_ == Kind::kOneHot ? rows_ - static_cast<std::size_t>(std::ranges::count(storage_->columns, kNoColumn))
                                : storage_->values.size();
}

std::vector<std::int64_t> IntMatrix::to_dense() const {
  std::vector<std::int64_t> values(rows_ * cols_);
  for (std::size_t r = 0; r < rows_; ++r) {
    for_each_in_row(r, [&](std::size_t c, std::int64_t v) { values[r * cols_ + c] = v; });
  }
  return values;
}

IntMatrix IntMatrix::transpose() const {
  check_frame(rows_, scale_, bound_);
  if (kind_ == Kind::kDense) {
    std::vector<std::int64_t> values(storage_->values.size());
    for (std::size_t r = 0; r < rows_; ++r) {
      for (std::size_t c = 0; c < cols_; ++c) values[c * rows_ + r] = storage_->values[r * cols_ + c];
    }
    return {Kind::kDense, cols_, rows_, scale_, bound_, {.row_starts = {}, .columns = {}, .values = std::move(values)}};
  }

  // Count the entries of each column, then drop every entry into its place: rows ascend within a column by themselves.
  Storage t{.row_starts = std::vector<std::size_t>(cols_ + 1),
            .columns = std::vector<Column>(stored()),
            .values = std::vector<std::int64_t>(stored())};
  for (std::size_t r = 0; r < rows_; ++r) {
    for_each_in_row(r, [&](std::size_t c, std::int64_t) { ++t.row_starts[c + 1]; });
  }
  for (std::size_t c = 0; c < cols_; ++c) t.row_starts[c + 1] += t.row_starts[c];
  std::vector<std::size_t> next(t.row_starts.begin(), t.row_starts.end() - 1);
  for (std::size_t r = 0; r < rows_; ++r) {
    for_each_in_row(r, [&](std::size_t c, std::int64_t v) {
      t.columns[next[c]] = static_cast<Column>(r);
      t.values[next[c]++] = v;
    });
  }
  return {Kind::kCsr, cols_, rows_, scale_, bound_, std::move(t)};
}

IntMatrix IntMatrix::select_rows(std::span<const std::uint32_t> rows, std::size_t padded_rows) const {
  for (const std::uint32_t r : rows) {
    require<InvalidArgument>(r < rows_, "select_rows: row ", r, " of ", rows_, " does not exist");
  }
  const std::size_t count = std::max(rows.size(), padded_rows);
  const Storage& from = *storage_;
  Storage to;
  switch (kind_) {
    case Kind::kDense:
      to.values.resize(count * cols_);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        std::copy_n(from.values.begin() + static_cast<std::ptrdiff_t>(rows[i] * cols_), cols_,
                    to.values.begin() + static_cast<std::ptrdiff_t>(i * cols_));
      }
      break;
    case Kind::kCsr:
      to.row_starts.push_back(0);
      for (const std::uint32_t r : rows) {
        const auto begin = static_cast<std::ptrdiff_t>(from.row_starts[r]);
        const auto end = static_cast<std::ptrdiff_t>(from.row_starts[r + 1]);
        to.columns.insert(to.columns.end(), from.columns.begin() + begin, from.columns.begin() + end);
        to.values.insert(to.values.end(), from.values.begin() + begin, from.values.begin() + end);
        to.row_starts.push_back(to.columns.size());
      }
      to.row_starts.resize(count + 1, to.columns.size());
      break;
    case Kind::kOneHot:
      for (const std::uint32_t r : rows) to.columns.push_back(from.columns[r]);
      to.columns.resize(count, kNoColumn);
      break;
  }
  return with_rows(count, std::move(to));
}

IntMatrix encode_dense(const FixedPoint& encoding, std::size_t rows, std::size_t cols, std::span<const double> values) {
  std::vector<std::int64_t> encoded(values.size());
  const std::size_t width = std::max<std::size_t>(cols, 1);
  for (std::size_t first = 0, row = 0; first < values.size(); first += width, ++row) {
    const std::size_t end = std::min(width, values.size() - first);
    for (std::size_t c = 0; c < end; ++c) encoded[first + c] = encoding.encode(values[first + c], row, c);
  }
  return IntMatrix::dense(rows, cols, std::move(encoded), encoding.scale(), encoding.bound());
}

IntMatrix encode_csr(const FixedPoint& encoding, std::size_t rows, std::size_t cols,
                     std::vector<std::size_t> row_starts, std::vector<IntMatrix::Column> columns,
                     std::span<const double> values) {
  require<InvalidArgument>(columns.size() == values.size() && !row_starts.empty(),
                           "sparse matrix: row starts, columns and values do not fit ", rows, " rows");
  std::vector<std::int64_t> encoded(values.size());
  std::size_t row = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    while (row + 1 < row_starts.size() && row_starts[row + 1] <= i) ++row;
    encoded[i] = encoding.encode(values[i], row, columns[i]);
  }
  return IntMatrix::csr(rows, cols, std::move(row_starts), std::move(columns), std::move(encoded), encoding.scale(),
                        encoding.bound());
}

}  // namespace blindfl
