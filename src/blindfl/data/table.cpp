#include "blindfl/data/table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "blindfl/base/error.h"

namespace blindfl::data {

namespace {

// Rows are chosen by 32-bit numbers; and rows * cols never overflows.
constexpr std::size_t kMaxRows = std::numeric_limits<std::uint32_t>::max();

void check_frame(std::size_t rows, std::size_t cols) {
  require<InvalidArgument>(rows <= kMaxRows, "table: ", rows, " rows are too many");
  require<InvalidArgument>(cols < IntMatrix::kNoColumn, "table: ", cols, " columns are too many");
}

void check_value(double value, std::size_t row, std::size_t col) {
  require<InvalidArgument>(std::isfinite(value), "table: the value at row ", row, ", column ", col, " is not finite");
}

void check_labels(std::size_t rows, const std::vector<double>& labels) {
  require<InvalidArgument>(labels.empty() || labels.size() == rows, "table: ", labels.size(), " labels for ", rows,
                           " rows");
  for (std::size_t r = 0; r < labels.size(); ++r) {
    require<InvalidArgument>(std::isfinite(labels[r]), "table: the label of row ", r, " is not finite");
  }
}

}  // namespace

Table Table::dense(std::size_t rows, std::size_t cols, std::vector<double> values, std::vector<double> labels) {
  check_frame(rows, cols);
  require<InvalidArgument>(values.size() == rows * cols, "dense table: ", values.size(), " values do not make ", rows,
                           " x ", cols);
  for (std::size_t i = 0; i < values.size(); ++i) check_value(values[i], i / cols, i % cols);
  check_labels(rows, labels);
  Table table(Kind::kDense, rows, cols);
  table.values_ = std::move(values);
  table.labels_ = std::move(labels);
  return table;
}

Table Table::csr(std::size_t rows, std::size_t cols, std::vector<std::size_t> row_starts, std::vector<Column> columns,
                 std::vector<double> values, std::vector<double> labels) {
  check_frame(rows, cols);
  require<InvalidArgument>(row_starts.size() == rows + 1 && row_starts.front() == 0 &&
                               row_starts.back() == columns.size() && columns.size() == values.size(),
                           "sparse table: row starts, columns and values do not fit ", rows, " rows");
  for (std::size_t r = 0; r < rows; ++r) {
    require<InvalidArgument>(row_starts[r] <= row_starts[r + 1] && row_starts[r + 1] <= columns.size(),
                             "sparse table: the row starts are not ascending at row ", r);
    for (std::size_t i = row_starts[r]; i < row_starts[r + 1]; ++i) {
      require<InvalidArgument>(columns[i] < cols, "sparse table: row ", r, " has a column beyond ", cols);
      require<InvalidArgument>(i == row_starts[r] || columns[i - 1] < columns[i], "sparse table: the columns of row ",
                               r, " are not ascending");
      check_value(values[i], r, columns[i]);
    }
  }
  check_labels(rows, labels);
  Table table(Kind::kCsr, rows, cols);
  table.row_starts_ = std::move(row_starts);
  table.columns_ = std::move(columns);
  table.values_ = std::move(values);
  table.labels_ = std::move(labels);
  return table;
}

Table Table::select_rows(std::span<const std::uint32_t> rows) const {
  check_frame(rows.size(), cols_);
  for (const std::uint32_t r : rows) {
    require<InvalidArgument>(r < rows_, "select_rows: row ", r, " of ", rows_, " does not exist");
  }
  Table to(kind_, rows.size(), cols_);
  if (kind_ == Kind::kCsr) to.row_starts_ = {0};
  for (const std::uint32_t r : rows) {
    const bool is_dense = kind_ == Kind::kDense;
    const auto begin = static_cast<std::ptrdiff_t>(is_dense ? r * cols_ : row_starts_[r]);
    const auto end = static_cast<std::ptrdiff_t>(is_dense ? (r + std::size_t{1}) * cols_ : row_starts_[r + 1]);
    to.values_.insert(to.values_.end(), values_.begin() + begin, values_.begin() + end);
    if (!is_dense) {
      to.columns_.insert(to.columns_.end(), columns_.begin() + begin, columns_.begin() + end);
      to.row_starts_.push_back(to.columns_.size());
    }
    if (!labels_.empty()) to.labels_.push_back(labels_[r]);
  }
  return to;
}

Table Table::with_labels(std::vector<double> labels) const {
  check_labels(rows_, labels);
  Table to = *this;
  to.labels_ = std::move(labels);
  return to;
}

IntMatrix Table::encode(const FixedPoint& encoding) const {
  return kind_ == Kind::kDense ? encode_dense(encoding, rows_, cols_, values_)
                               : encode_csr(encoding, rows_, cols_, row_starts_, columns_, values_);
}

std::vector<float> Table::to_dense() const {
  std::vector<float> values(rows_ * cols_);
  for (std::size_t r = 0; r < rows_; ++r) {
    for_each_in_row(r, [&](std::size_t c, double value) { values[r * cols_ + c] = static_cast<float>(value); });
  }
  return values;
}

}  // namespace blindfl::data
