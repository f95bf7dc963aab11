#include "blindfl/protocol/layers/weight.h"

#include <algorithm>

#include "blindfl/base/secret.h"

namespace blindfl::protocol {

ShareMatrix draw_piece(std::size_t rows, std::size_t cols, double deviation, int scale, double largest,
                       SeededRandom& random) {
  SecretVector<double> reals(rows * cols);
  for (double& x : reals) x = std::clamp(deviation * random.normal(), -largest, largest);
  return encode_ring(rows, cols, reals, scale, largest);
}

}  // namespace blindfl::protocol
