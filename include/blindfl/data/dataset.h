#pragma once

#include <cstddef>
#include <vector>

#include "blindfl/data/table.h"
#include "blindfl/tensor/category_field.h"
#include "blindfl/tensor/fixed_point.h"
#include "blindfl/tensor/int_matrix.h"

namespace blindfl::data {

/// One party's rows, ready for the protocols: encoded once, not for every batch.
struct Dataset {
  /// Numeric features. A party that has none may leave it empty if it has fields.
  IntMatrix features;
  /// One for each row; empty at a party that has none.
  std::vector<double> labels;
  /// Categorical fields, as `encode_categories` makes them; each has all rows.
  std::vector<IntMatrix> fields{};

  [[nodiscard]] std::size_t rows() const {
    return features.rows() == 0 && !fields.empty() ? fields.front().rows() : features.rows();
  }
};

/// Encodes the features of a table and keeps its labels as they are.
/// Throws DataError naming row and column of a value that `encoding` has no room for.
[[nodiscard]] Dataset make_dataset(const Table& table, const FixedPoint& encoding);

}  // namespace blindfl::data
