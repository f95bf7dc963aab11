#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "blindfl/base/int128.h"
#include "blindfl/ot/block.h"

namespace blindfl::mpc {

/// A pad as a number modulo 2^64 or 2^128.
template <class Ring>
[[nodiscard]] Ring pad_as(const ot::Block& pad) {
  if constexpr (std::is_same_v<Ring, UInt128>) {
    return static_cast<UInt128>(pad.high) << 64 | pad.low;
  } else {
    return pad.low;
  }
}

/// The sender's two pads in the order of the receiver's bits 0 and 1, given its correction: all ones if it wants them
/// exchanged, else zeros.
template <class Ring>
struct OrderedPads {
  OrderedPads(const ot::Block& zero, const ot::Block& one, Ring exchanged)
      : of_zero(pad_as<Ring>(zero)), of_one(pad_as<Ring>(one)) {
    const Ring change = (of_zero ^ of_one) & exchanged;
    of_zero ^= change;
    of_one ^= change;
  }
  Ring of_zero;
  Ring of_one;
};

}  // namespace blindfl::mpc
