#include "blindfl/data/table_cuts.h"

#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"

namespace blindfl::data {

namespace {

// Knuth's multiplier, 2^32 divided by the golden ratio, and a fifth of 2^32.
constexpr std::uint32_t kMultiplier = 2654435761U;
constexpr std::uint32_t kTestBelow = 858993459U;

}  // namespace

Table select_columns(const Table& table, std::size_t begin, std::size_t end) {
  require<InvalidArgument>(begin <= end && end <= table.cols(), "select_columns: columns ", begin, " to ", end, " of ",
                           table.cols(), " do not exist");
  std::vector<std::size_t> row_starts{0};
  std::vector<Table::Column> columns;
  std::vector<double> values;
  for (std::size_t r = 0; r < table.rows(); ++r) {
    table.for_each_in_row(r, [&](std::size_t c, double value) {
      if (c < begin || c >= end) return;
      columns.push_back(static_cast<Table::Column>(c - begin));
      values.push_back(value);
    });
    row_starts.push_back(columns.size());
  }
  if (table.kind() == Table::Kind::kDense) {
    return Table::dense(table.rows(), end - begin, std::move(values), table.labels());
  }
  return Table::csr(table.rows(), end - begin, std::move(row_starts), std::move(columns), std::move(values),
                    table.labels());
}

Table with_class_labels(const Table& table) {
  std::map<double, double> classes;
  for (const double label : table.labels()) classes[label] = 0;
  double next = 0;
  for (auto& [label, index] : classes) index = next++;
  std::vector<double> indices;
  for (const double label : table.labels()) indices.push_back(classes.at(label));
  return table.with_labels(std::move(indices));
}

Table as_dense(const Table& table) {
  std::vector<double> values(table.rows() * table.cols());
  for (std::size_t r = 0; r < table.rows(); ++r) {
    table.for_each_in_row(r, [&](std::size_t c, double value) { values[r * table.cols() + c] = value; });
  }
  return Table::dense(table.rows(), table.cols(), std::move(values), table.labels());
}

Table rounded(const Table& table, int scale) {
  std::vector<double> values(table.rows() * table.cols());
  for (std::size_t r = 0; r < table.rows(); ++r) {
    table.for_each_in_row(r, [&](std::size_t c, double value) {
      values[r * table.cols() + c] = std::ldexp(std::round(std::ldexp(value, scale)), -scale);
    });
  }
  return Table::dense(table.rows(), table.cols(), std::move(values), table.labels());
}

VerticalSplit vertical_split(const Table& table, std::size_t columns_of_a) {
  require<InvalidArgument>(columns_of_a <= table.cols(), "vertical_split: A cannot have ", columns_of_a, " of ",
                           table.cols(), " columns");
  return {.a = select_columns(table, 0, columns_of_a).with_labels({}),
          .b = select_columns(table, columns_of_a, table.cols())};
}

RowSplit hashed_test_rows(std::size_t rows) {
  require<InvalidArgument>(rows <= std::numeric_limits<std::uint32_t>::max(), "hashed_test_rows: ", rows,
                           " rows are too many");
  RowSplit split;
  for (std::uint32_t row = 0; row < rows; ++row) {
    // Unsigned arithmetic is the rule's mod 2^32.
    const std::uint32_t hash = row * kMultiplier;
    (hash < kTestBelow ? split.test : split.train).push_back(row);
  }
  return split;
}

}  // namespace blindfl::data
