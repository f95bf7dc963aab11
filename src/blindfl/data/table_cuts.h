#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "blindfl/data/table.h"

namespace blindfl::data {

/// The columns begin, ..., end - 1, with the labels. Throws InvalidArgument unless begin <= end <= cols().
[[nodiscard]] Table select_columns(const Table& table, std::size_t begin, std::size_t end);

/// The same features with the labels 0, 1, 2, ... in the order of the labels' values: what classifiers take.
[[nodiscard]] Table with_class_labels(const Table& table);

/// The same table, every value stored.
[[nodiscard]] Table as_dense(const Table& table);

/// A dense table of the same values at `scale` fractional bits: what models differ by is then not the encoding.
[[nodiscard]] Table rounded(const Table& table, int scale);

/// One table cut between its columns: the same rows at both parties, the labels at B alone.
struct VerticalSplit {
  Table a;
  Table b;
};

/// The first `columns_of_a` columns, without labels, for A; the others, with the labels, for B. Either may be none.
/// Throws InvalidArgument if A would get more columns than there are.
[[nodiscard]] VerticalSplit vertical_split(const Table& table, std::size_t columns_of_a);

/// Rows to train with and rows to test with, both ascending.
struct RowSplit {
  std::vector<std::uint32_t> train;
  std::vector<std::uint32_t> test;
};

/// Puts about one row in five aside for testing: row i, if i * 2654435761 mod 2^32 < 858993459.
///
/// The number of rows alone decides, so both parties agree without a message; and multiplication spreads the test
/// rows so that neither sorted rows nor rows that cycle through their labels bias them.
/// Throws InvalidArgument if there are 2^32 rows or more.
[[nodiscard]] RowSplit hashed_test_rows(std::size_t rows);

}  // namespace blindfl::data
