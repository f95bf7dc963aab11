#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/nn/embed_matmul.h"
#include "blindfl/nn/matmul.h"

// What models with an open top and with a shared one begin with alike.

namespace blindfl::nn {

/// The first of the hidden layers' widths. Throws InvalidArgument, naming `what` has none.
[[nodiscard]] inline std::size_t first_of(const std::vector<std::size_t>& widths, const char* what) {
  require<InvalidArgument>(!widths.empty(), what, " needs at least one hidden layer");
  return widths.front();
}

/// Throws InvalidArgument if there are no categorical fields.
[[nodiscard]] inline const CategoryShape& with_fields(const CategoryShape& shape) {
  require<InvalidArgument>(!shape.fields_a.empty() || !shape.fields_b.empty(),
                           "a model with embeddings needs categorical fields. For numeric features alone there are "
                           "generalised linear models and multi-layer perceptrons");
  return shape;
}

/// Throws InvalidArgument if there are no numeric features for a factorisation machine.
[[nodiscard]] inline const FeatureShape& with_pairs(const FeatureShape& shape) {
  require<InvalidArgument>(shape.in_a + shape.in_b > 0,
                           "DeepFM's factorisation machine needs numeric or one-hot features. For categorical fields "
                           "alone there is Wide & Deep");
  return shape;
}

[[nodiscard]] inline std::size_t embedded_inputs(const CategoryShape& shape) {
  return (shape.fields_a.size() + shape.fields_b.size()) * shape.dimension;
}

/// The standard deviation of a bias on shares, as torch's Linear starts it: see `initial_bias`.
[[nodiscard]] inline double bias_deviation(std::size_t inputs) {
  return 1 / std::sqrt(3 * static_cast<double>(std::max<std::size_t>(inputs, 1)));
}

/// Empty if nobody has numeric features.
[[nodiscard]] inline MatMul numeric_source(protocol::Session& session, const FeatureShape& shape, std::size_t out,
                                           const MatMulOptions& options) {
  MatMul source{nullptr};
  if (shape.in_a + shape.in_b > 0) source = MatMul(session, shape, out, options);
  return source;
}

}  // namespace blindfl::nn
