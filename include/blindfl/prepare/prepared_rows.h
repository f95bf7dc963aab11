#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/data/row_source.h"

namespace blindfl::prepare {

/// Cells of a column that were missing, and what they became.
struct FilledColumn {
  std::string name;
  std::size_t cells = 0;
  bool is_category = false;  ///< then it is the reserved category; else what the column's `missing` says

  bool operator==(const FilledColumn&) const = default;
};

/// Rows of one file, encoded.
struct PreparedRows {
  std::unique_ptr<data::RowSource> rows;  ///< batches have the labels too
  std::vector<std::string> ids{};         ///< one for each row; empty if there is no id column
  std::vector<double>
      labels{};  ///< one for each row at B where the file has them; else empty. Classes are 0, 1, 2, ...
  std::vector<double> weights{};       ///< one for each row that has a label, where there is a weight column
  std::vector<FilledColumn> filled{};  ///< columns with missing cells, and how many
  Bytes digest{};                      ///< SHA-256 of the file
};

/// "missing cells, filled as in training: 'age' 3, 'city' 2 (reserved category)"; empty if nothing was missing.
[[nodiscard]] std::string words_of(const std::vector<FilledColumn>& filled);

}  // namespace blindfl::prepare
