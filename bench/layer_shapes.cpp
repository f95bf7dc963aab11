#include "layer_shapes.h"

#include <cmath>
#include <set>
#include <vector>

namespace blindfl::bench {

namespace {

/// Binary features, signed ones of 16 bits in dense rows, positive ones in sparse rows.
FixedPointSpec encoding(const LayerShape& shape) {
  if (shape.bits == 1) return {.scale = 0, .largest = 1.0};
  return {.scale = 12, .largest = std::ldexp(1.0, shape.bits - 12 - (shape.dense() ? 1 : 0))};
}

std::int64_t random_value(const LayerShape& shape, SeededRandom& random) {
  if (shape.bits == 1) return 1;
  const std::uint64_t all = (std::uint64_t{1} << shape.bits) - 1;
  const auto value = static_cast<std::int64_t>(random.below(all));
  return shape.dense() ? value - static_cast<std::int64_t>(all / 2) : value + 1;
}

}  // namespace

protocol::MatMulSpec layer_spec(const LayerShape& shape, protocol::Update update, double momentum) {
  protocol::MatMulSpec spec;
  spec.name = shape.name;
  spec.in_a = shape.in;
  spec.out = shape.out;
  spec.batch = kLayerBatch;
  spec.features_a = encoding(shape);
  spec.nonzeros_a = shape.nonzeros;
  spec.update = update;
  spec.sgd = {.learning_rate = 0.05, .momentum = momentum, .steps = shape.steps};
  return spec;
}

IntMatrix random_features(const LayerShape& shape, std::size_t rows, SeededRandom& random) {
  const FixedPoint fixed(encoding(shape));
  std::vector<std::size_t> starts{0};
  std::vector<IntMatrix::Column> columns;
  std::vector<std::int64_t> values;
  for (std::size_t r = 0; r < rows; ++r) {
    std::set<IntMatrix::Column> chosen;
    while (!shape.dense() && chosen.size() < shape.nonzeros) {
      const double popular = std::pow(random.uniform(), 1 + shape.skew);
      chosen.insert(static_cast<IntMatrix::Column>(popular * static_cast<double>(shape.in)));
    }
    columns.insert(columns.end(), chosen.begin(), chosen.end());
    for (std::size_t i = 0; i < shape.nonzeros; ++i) values.push_back(random_value(shape, random));
    starts.push_back(columns.size());
  }
  if (shape.dense()) return IntMatrix::dense(rows, shape.in, std::move(values), fixed.scale(), fixed.bound());
  return IntMatrix::csr(rows, shape.in, std::move(starts), std::move(columns), std::move(values), fixed.scale(),
                        fixed.bound());
}

}  // namespace blindfl::bench
