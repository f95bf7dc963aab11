#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "blindfl/data/category_column.h"
#include "blindfl/data/column_kind.h"
#include "blindfl/data/delimited.h"

namespace blindfl::data {

/// What to make of one column.
struct ColumnSpec {
  std::string name;
  ColumnKind kind = ColumnKind::kIgnored;
  /// Between the categories of one cell. What is empty between two of them does not count.
  std::string separator = "|";
  /// Cells of this column that say that there is no value, besides those of the whole frame.
  std::vector<std::string> missing{};
  /// Whether a number may be missing.
  bool optional = true;
};

/// What to read from a delimited file.
struct FrameSpec {
  DelimitedOptions format{};
  std::vector<ColumnSpec> columns{};
  /// What the columns are that `columns` does not name: ignored, numeric or one category.
  ColumnKind others = ColumnKind::kIgnored;
  /// Cells that say that there is no value.
  std::vector<std::string> missing = {""};
};

/// A column of numbers. NaN, which no cell can say, stands for a missing one.
struct NumericColumn {
  std::string name;
  std::vector<double> values{};
};

/// The columns of a file that somebody asked for, by kind: those that the spec names in its order, then the others in
/// the file's.
struct Frame {
  std::size_t rows = 0;
  std::vector<NumericColumn> numeric{};
  std::vector<CategoryColumn> categories{};
  /// One for each row, or none if there is no such column.
  std::vector<std::string> ids{};
};

/// Reads a delimited file, plain or compressed, in one pass. Of a multi-valued cell, an empty one is a row without
/// categories, unless it counts as missing.
/// Throws DataError, with file, line, column and kind of fault but never the value, if a cell is not what its column
/// should have, if a column is missing, if there are no rows, and as `DelimitedReader` does; InvalidArgument if `spec`
/// makes no sense.
[[nodiscard]] Frame read_frame(const std::filesystem::path& path, const FrameSpec& spec);

}  // namespace blindfl::data
