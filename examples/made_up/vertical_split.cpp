#include "made_up/vertical_split.h"

#include <limits>

#include "blindfl/base/error.h"
#include "made_up/tables.h"

namespace blindfl::made_up {

namespace {

// Knuth's multiplier, 2^32 divided by the golden ratio, and a fifth of 2^32.
constexpr std::uint32_t kMultiplier = 2654435761U;
constexpr std::uint32_t kTestBelow = 858993459U;

}  // namespace

VerticalSplit vertical_split(const data::Table& table, std::size_t columns_of_a) {
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

}  // namespace blindfl::made_up
