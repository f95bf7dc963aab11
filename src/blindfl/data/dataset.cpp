#include "blindfl/data/dataset.h"

namespace blindfl::data {

Dataset make_dataset(const Table& table, const FixedPoint& encoding) {
  return {.features = table.encode(encoding), .labels = table.labels()};
}

}  // namespace blindfl::data
