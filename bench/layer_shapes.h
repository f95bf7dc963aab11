#pragma once

#include <array>
#include <cstddef>

#include "blindfl/base/random.h"
#include "blindfl/protocol/layers/matmul.h"

// Source layers with A's features only, as the paper's data sets have them, in batches of 128.

namespace blindfl::bench {

constexpr std::size_t kLayerBatch = 128;

struct LayerShape {
  const char* name;
  std::size_t in;
  std::size_t nonzeros;  ///< of a row
  std::size_t out;
  int bits;           ///< of a feature; 1: all that is not 0 is 1
  std::size_t steps;  ///< ten epochs: updates under encryption make room for that many
  double skew = 0;    ///< how much more popular the first features are: 0 not at all

  [[nodiscard]] bool dense() const { return nonzeros == in; }
};

inline constexpr std::array kLayerShapes{
    LayerShape{"a9a", 62, 7, 1, 1, 2540},         LayerShape{"w8a", 150, 6, 1, 1, 3880},
    LayerShape{"higgs", 14, 14, 1, 16, 859000},   LayerShape{"avazu", 500000, 7, 1, 1, 1136000, 5},
    LayerShape{"connect-4", 63, 21, 64, 1, 5270}, LayerShape{"news20", 31000, 40, 20, 16, 1240, 5},
    LayerShape{"fmnist", 392, 392, 64, 16, 4680},
};

/// A layer of that shape.
[[nodiscard]] protocol::MatMulSpec layer_spec(const LayerShape& shape, protocol::Update update, double momentum);

/// Features for a batch of the layer.
[[nodiscard]] IntMatrix random_features(const LayerShape& shape, std::size_t rows, SeededRandom& random);

}  // namespace blindfl::bench
