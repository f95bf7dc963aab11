#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "blindfl/data/row_source.h"

namespace blindfl::testing {

/// The stored entries of all rows: what a copy must have too, bit for bit.
inline std::vector<std::vector<std::pair<std::size_t, std::int64_t>>> entries_of(const IntMatrix& matrix) {
  std::vector<std::vector<std::pair<std::size_t, std::int64_t>>> rows(matrix.rows());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    matrix.for_each_in_row(r, [&](std::size_t c, std::int64_t v) { rows[r].emplace_back(c, v); });
  }
  return rows;
}

inline void expect_same(const IntMatrix& x, const IntMatrix& y) {
  EXPECT_EQ(x.kind(), y.kind());
  EXPECT_EQ(x.rows(), y.rows());
  EXPECT_EQ(x.cols(), y.cols());
  EXPECT_EQ(x.scale(), y.scale());
  EXPECT_EQ(x.bound(), y.bound());
  EXPECT_EQ(entries_of(x), entries_of(y));
}

inline void expect_same(const data::Batch& x, const data::Batch& y) {
  EXPECT_EQ(x.rows, y.rows);
  EXPECT_EQ(x.labels, y.labels);
  expect_same(x.features, y.features);
  ASSERT_EQ(x.fields.size(), y.fields.size());
  for (std::size_t i = 0; i < x.fields.size(); ++i) expect_same(x.fields[i], y.fields[i]);
}

/// All rows in their order.
inline data::Batch all_rows(const data::RowSource& source) {
  std::vector<std::uint32_t> rows(source.rows());
  std::iota(rows.begin(), rows.end(), 0U);
  return source.batch(rows, rows.size());
}

/// Rows of both as they are, and shuffled in batches with a short last one.
inline void expect_same(const data::RowSource& x, const data::RowSource& y) {
  ASSERT_EQ(x.rows(), y.rows());
  expect_same(all_rows(x), all_rows(y));
  for (const auto& rows : data::BatchOrder(x.rows(), 7, 1).batches(0)) expect_same(x.batch(rows, 7), y.batch(rows, 7));
}

}  // namespace blindfl::testing
