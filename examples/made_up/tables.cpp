#include "made_up/tables.h"

#include <map>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"

namespace blindfl::made_up {

data::Table select_columns(const data::Table& table, std::size_t begin, std::size_t end) {
  require<InvalidArgument>(begin <= end && end <= table.cols(), "select_columns: columns ", begin, " to ", end, " of ",
                           table.cols(), " do not exist");
  std::vector<std::size_t> row_starts{0};
  std::vector<data::Table::Column> columns;
  std::vector<double> values;
  for (std::size_t r = 0; r < table.rows(); ++r) {
    table.for_each_in_row(r, [&](std::size_t c, double value) {
      if (c < begin || c >= end) return;
      columns.push_back(static_cast<data::Table::Column>(c - begin));
      values.push_back(value);
    });
    row_starts.push_back(columns.size());
  }
  if (table.kind() == data::Table::Kind::kDense) {
    return data::Table::dense(table.rows(), end - begin, std::move(values), table.labels());
  }
  return data::Table::csr(table.rows(), end - begin, std::move(row_starts), std::move(columns), std::move(values),
                          table.labels());
}

data::Table with_class_labels(const data::Table& table) {
  std::map<double, double> classes;
  for (const double label : table.labels()) classes[label] = 0;
  double next = 0;
  for (auto& [label, index] : classes) index = next++;
  std::vector<double> indices;
  for (const double label : table.labels()) indices.push_back(classes.at(label));
  return table.with_labels(std::move(indices));
}

data::Table as_dense(const data::Table& table) {
  std::vector<double> values(table.rows() * table.cols());
  for (std::size_t r = 0; r < table.rows(); ++r) {
    table.for_each_in_row(r, [&](std::size_t c, double value) { values[r * table.cols() + c] = value; });
  }
  return data::Table::dense(table.rows(), table.cols(), std::move(values), table.labels());
}

}  // namespace blindfl::made_up
