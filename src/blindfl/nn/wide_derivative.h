#pragma once

#include <cstdint>

#include "blindfl/mpc/top_parts.h"
#include "blindfl/nn/shared_tensor.h"
#include "blindfl/protocol/session/room_lift.h"

namespace blindfl::nn {

/// Local: a derivative at `kSharedScale`, shared modulo 2^kValueRing.
[[nodiscard]] inline ShareMatrix narrow_derivative(const SharedDerivative& d) {
  return narrowed(rescale(d.share, kSharedScale), mpc::kValueRing);
}

/// This party's share of a derivative at `kSharedScale` modulo 2^ring_bits. `layer` is what both parties know the
/// messages by. Cost: none, or a lift with room where it is shared modulo less. Reveals: nothing.
[[nodiscard]] inline ShareMatrix derivative_in(protocol::Session& session, std::uint32_t layer,
                                               const SharedDerivative& d, int ring_bits) {
  if (d.share.ring_bits() == ShareMatrix::kMostRingBits) return narrowed(rescale(d.share, kSharedScale), ring_bits);
  return protocol::lift_with_room(session, layer, narrow_derivative(d), ring_bits);
}

/// The same derivative modulo 2^128, at whatever scale it has, as gradients of source layers take it.
[[nodiscard]] inline SharedDerivative wide_derivative(protocol::Session& session, std::uint32_t layer,
                                                      const SharedDerivative& d) {
  if (d.share.ring_bits() == ShareMatrix::kMostRingBits) return d;
  return {.share = protocol::lift_with_room(session, layer, d.share)};
}

}  // namespace blindfl::nn
