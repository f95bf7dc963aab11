#include "blindfl/app/torch/row_split.h"

#include <algorithm>

#include "blindfl/data/batches.h"

namespace blindfl::app {

SplitPlaces split_places(const RowSplit& counts, std::uint64_t order_seed) {
  constexpr std::uint64_t kOfSplit = 0x5A11D;  // another order than that of the batches
  const std::size_t rows = counts.training + counts.validation + counts.test;
  SplitPlaces places;
  if (rows == 0) return places;
  const std::vector<std::uint32_t> order = data::BatchOrder(rows, rows, order_seed ^ kOfSplit).batches(1).front();
  const auto validation = order.begin() + static_cast<std::ptrdiff_t>(counts.training);
  const auto test = validation + static_cast<std::ptrdiff_t>(counts.validation);
  places.training.assign(order.begin(), validation);
  places.validation.assign(validation, test);
  places.test.assign(test, order.end());
  for (auto* each : {&places.training, &places.validation, &places.test}) std::ranges::sort(*each);
  return places;
}

}  // namespace blindfl::app
