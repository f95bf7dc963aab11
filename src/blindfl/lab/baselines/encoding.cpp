#include "blindfl/lab/baselines/encoding.h"

#include <algorithm>
#include <cmath>

namespace blindfl::lab::baselines {

FixedPointSpec encoding_of(const std::vector<const data::Table*>& tables) {
  bool integers = true;
  double largest = 1;
  for (const data::Table* table : tables) {
    for (std::size_t r = 0; r < table->rows(); ++r) {
      table->for_each_in_row(r, [&](std::size_t, double value) {
        integers = integers && value == std::round(value);
        largest = std::max(largest, std::abs(value));
      });
    }
  }
  return {.scale = integers ? 0 : FixedPointSpec{}.scale, .largest = std::exp2(std::ceil(std::log2(largest)))};
}

nn::FeatureShape shape_of(const std::vector<const VerticalRows*>& all, std::size_t batch) {
  std::vector<const data::Table*> of_a;
  std::vector<const data::Table*> of_b;
  for (const VerticalRows* rows : all) {
    of_a.push_back(&rows->a.numeric);
    of_b.push_back(&rows->b.numeric);
  }
  return {.in_a = of_a.front()->cols(),
          .in_b = of_b.front()->cols(),
          .batch = batch,
          .features_a = encoding_of(of_a),
          .features_b = encoding_of(of_b)};
}

data::Dataset own_dataset(Party party, const VerticalRows& rows, const nn::FeatureShape& shape) {
  const LocalRows& own = party == Party::kA ? rows.a : rows.b;
  data::Dataset dataset;
  if (own.numeric.cols() > 0) {
    dataset.features = own.numeric.encode(FixedPoint(party == Party::kA ? shape.features_a : shape.features_b));
  }
  if (party == Party::kB) dataset.labels = own.labels;
  dataset.fields = own.fields;
  return dataset;
}

}  // namespace blindfl::lab::baselines
