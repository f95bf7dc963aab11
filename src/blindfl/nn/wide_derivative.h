#pragma once

#include <cstdint>

#include "blindfl/mpc/shared_product.h"
#include "blindfl/nn/shared_tensor.h"

namespace blindfl::nn {

/// The same derivative modulo 2^128, as gradients take it: as integers, where it was not. `layer` is what both parties
/// know the message by. Cost: none, or one of `mpc::make_pieces`. Reveals: nothing.
[[nodiscard]] inline SharedDerivative wide_derivative(protocol::Session& session, std::uint32_t layer,
                                                      const SharedDerivative& d) {
  if (d.share.ring_bits() == ShareMatrix::kMostRingBits) return d;
  return {.share = mpc::make_pieces(session, layer, d.share), .integers = true};
}

}  // namespace blindfl::nn
