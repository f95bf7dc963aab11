#include "blindfl/data/dataset.h"

#include <algorithm>
#include <cmath>

#include "blindfl/base/error.h"

namespace blindfl::data {

Dataset make_dataset(const Table& table, const FixedPoint& encoding) {
  return {.features = table.encode(encoding), .labels = table.labels()};
}

FixedPointSpec suggest_encoding(const Table& table) {
  constexpr double kLargest = 0x1p40;
  double largest = 1.0;
  bool integers = true;
  for (std::size_t r = 0; r < table.rows(); ++r) {
    table.for_each_in_row(r, [&](std::size_t c, double v) {
      require<DataError>(std::abs(v) <= kLargest, "row ", r, ", column ", c,
                         ": too large to be encoded; rescale the column");
      largest = std::max(largest, std::abs(v));
      integers = integers && v == std::round(v);
    });
  }
  return {.scale = integers ? 0 : FixedPointSpec{}.scale, .largest = std::exp2(std::ceil(std::log2(largest)))};
}

}  // namespace blindfl::data
