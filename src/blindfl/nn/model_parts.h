#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/nn/deep_models.h"
#include "blindfl/nn/embed_matmul.h"
#include "blindfl/nn/matmul.h"
#include "blindfl/nn/pairs.h"

// What models with an open top and with a shared one begin with alike.

namespace blindfl::nn {

/// The first of the hidden layers' widths. Throws InvalidArgument, naming `what` has none.
[[nodiscard]] inline std::size_t first_of(const std::vector<std::size_t>& widths, const char* what) {
  require<InvalidArgument>(!widths.empty(), what, " needs at least one hidden layer");
  return widths.front();
}

/// Throws InvalidArgument if nobody has categorical fields.
[[nodiscard]] inline const PerPeer<CategoryShape>& with_fields(const protocol::Sessions& sessions,
                                                               const PerPeer<CategoryShape>& shapes) {
  require<InvalidArgument>(all_fields(sessions, shapes) > 0,
                           "a model with embeddings needs categorical fields. For numeric features alone there are "
                           "generalised linear models and multi-layer perceptrons");
  return shapes;
}

/// Throws InvalidArgument if there are no numeric features for a factorisation machine.
[[nodiscard]] inline const PerPeer<FeatureShape>& with_pairs(const protocol::Sessions& sessions,
                                                             const PerPeer<FeatureShape>& shapes) {
  require<InvalidArgument>(all_features(sessions, shapes) > 0,
                           "DeepFM's factorisation machine needs numeric or one-hot features. For categorical fields "
                           "alone there is Wide & Deep");
  return shapes;
}

[[nodiscard]] inline std::size_t embedded_inputs(const protocol::Sessions& sessions,
                                                 const PerPeer<CategoryShape>& shapes) {
  return all_fields(sessions, shapes) * shapes.at(0, sessions.size()).dimension;
}

/// The numeric part of each pair's options, and that of the categories.
[[nodiscard]] inline PerPeer<MatMulOptions> numeric_options(const PerPeer<TwoSourceOptions>& options) {
  std::vector<MatMulOptions> numeric;
  for (const TwoSourceOptions& of_pair : options.all()) numeric.push_back(of_pair.numeric);
  return numeric;
}
[[nodiscard]] inline PerPeer<EmbedMatMulOptions> category_options(const PerPeer<TwoSourceOptions>& options) {
  std::vector<EmbedMatMulOptions> categories;
  for (const TwoSourceOptions& of_pair : options.all()) categories.push_back(of_pair.categories);
  return categories;
}

/// The standard deviation of a bias on shares, as torch's Linear starts it: see `initial_bias`.
[[nodiscard]] inline double bias_deviation(std::size_t inputs) {
  return 1 / std::sqrt(3 * static_cast<double>(std::max<std::size_t>(inputs, 1)));
}

/// Empty if nobody has numeric features.
[[nodiscard]] inline MatMul numeric_source(const protocol::Sessions& sessions, const PerPeer<FeatureShape>& shapes,
                                           std::size_t out, const PerPeer<MatMulOptions>& options) {
  MatMul source{nullptr};
  if (all_features(sessions, shapes) > 0) source = MatMul(sessions, shapes, out, options);
  return source;
}

}  // namespace blindfl::nn
