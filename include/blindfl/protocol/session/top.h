#pragma once

namespace blindfl::protocol {

/// Who has what is between the source layers and the top model: Z on the way up, dZ on the way down.
enum class Top {
  kOpen,    ///< Z is opened to B, and B has all of dZ: the paper's way
  kShared,  ///< both stay shared: each party has a share of Z and of dZ, and nobody has either
};

}  // namespace blindfl::protocol
