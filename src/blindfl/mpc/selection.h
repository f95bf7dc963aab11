#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "blindfl/mpc/multiplexer.h"
#include "blindfl/mpc/party_cost.h"
#include "blindfl/mpc/steps.h"
#include "blindfl/protocol/session/crossing.h"
#include "blindfl/share/share_matrix.h"

// A multiplexer between the parties of a session, and between matrices and its numbers.

namespace blindfl::mpc {

/// A share's values in a ring of 64 or 128 bits: exact for a ring that is as wide or wider.
template <class Ring>
[[nodiscard]] SecretVector<Ring> ring_values(const ShareMatrix& share) {
  SecretVector<Ring> values(share.values().size());
  std::ranges::transform(share.values(), values.begin(), [](UInt128 v) { return static_cast<Ring>(v); });
  return values;
}

template <class Ring>
[[nodiscard]] ShareMatrix ring_matrix(std::span<const Ring> values, std::size_t rows, std::size_t cols, int scale) {
  ShareMatrix share(rows, cols, scale, 8 * sizeof(Ring));
  std::ranges::copy(values, share.values().begin());
  return share;
}

/// Shares of the values where the shared bits are 1, of 0 elsewhere. Two flights, each both ways.
template <class Ring>
[[nodiscard]] SecretVector<Ring> select(Session& session, std::uint32_t layer, Multiplexer<Ring>& multiplexer,
                                        const BitShares& bits, std::span<const Ring> values) {
  return closing(session, [&] {
    const Bytes choices = cross(session, steps::kChoices, layer, multiplexer.choose(bits));
    return multiplexer.finish(cross(session, steps::kSelection, layer, multiplexer.forward(choices, values)));
  });
}

/// The same bits, other values: one flight.
template <class Ring>
[[nodiscard]] SecretVector<Ring> select_again(Session& session, std::uint32_t layer, Multiplexer<Ring>& multiplexer,
                                              std::span<const Ring> values) {
  const Bytes mine = multiplexer.again(values);
  return closing(session, [&] { return multiplexer.finish_again(cross(session, steps::kSelection, layer, mine)); });
}

}  // namespace blindfl::mpc
