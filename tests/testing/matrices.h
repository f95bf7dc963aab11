#pragma once

#include <vector>

#include "blindfl/base/random.h"
#include "blindfl/share/share_matrix.h"
#include "blindfl/tensor/int_matrix.h"

namespace blindfl::testing {

inline std::int64_t random_value(std::uint64_t bound, SeededRandom& random) {
  return static_cast<std::int64_t>(random.below(2 * bound + 1)) - static_cast<std::int64_t>(bound);
}

/// A random matrix of the given kind; CSR rows are sparse, and some are empty.
inline IntMatrix random_matrix(IntMatrix::Kind kind, std::size_t rows, std::size_t cols, int scale, std::uint64_t bound,
                               SeededRandom& random) {
  if (kind == IntMatrix::Kind::kDense) {
    std::vector<std::int64_t> values(rows * cols);
    for (auto& v : values) v = random_value(bound, random);
    return IntMatrix::dense(rows, cols, std::move(values), scale, bound);
  }
  if (kind == IntMatrix::Kind::kOneHot) {
    std::vector<IntMatrix::Column> ones(rows);
    for (auto& c : ones)
      c = random.below(8) == 0 ? IntMatrix::kNoColumn : static_cast<IntMatrix::Column>(random.below(cols));
    return IntMatrix::one_hot(cols, std::move(ones));
  }
  std::vector<std::size_t> starts{0};
  std::vector<IntMatrix::Column> columns;
  std::vector<std::int64_t> values;
  for (std::size_t r = 0; r < rows; ++r) {
    const bool empty = random.below(8) == 0;
    for (std::size_t c = 0; c < cols && !empty; ++c) {
      if (random.below(4) != 0) continue;
      columns.push_back(static_cast<IntMatrix::Column>(c));
      values.push_back(random_value(bound, random));
    }
    starts.push_back(columns.size());
  }
  return IntMatrix::csr(rows, cols, std::move(starts), std::move(columns), std::move(values), scale, bound);
}

/// Every value the same.
inline ShareMatrix constant_share(std::size_t rows, std::size_t cols, int scale, UInt128 value) {
  ShareMatrix m(rows, cols, scale);
  for (UInt128& v : m.values()) v = value;
  return m;
}

}  // namespace blindfl::testing
