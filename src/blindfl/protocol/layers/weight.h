#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "blindfl/protocol/layers/weight_update.h"
#include "blindfl/protocol/session/session.h"
#include "blindfl/share/share_matrix.h"

namespace blindfl::protocol {

/// This party's share of a weight matrix that nobody holds whole.
struct Weight {
  std::string name;
  Party features_of{};  ///< whose features it multiplies
  ShareMatrix piece;    ///< U at the party with the features, V at the other
  /// Both parties hold a share of every gradient, so both shares change at every step. Otherwise only U does.
  bool shared_gradient = false;
  /// At B with several A's: this party's share is in its layer with the first of them, and `piece` has no rows.
  bool elsewhere = false;
  /// Counts changes of V, at both parties alike: what was encrypted before is stale.
  std::uint64_t version = 1;
  /// Set if the layer itself updates the weight, at the optimizer's word. The share then need not be all of it.
  std::shared_ptr<WeightUpdate> update{};

  // Public facts that an optimizer needs.
  int gradient_scale = 0;
  int gradient_bits = 0;  ///< of the largest gradient at that scale
  double largest = 0;     ///< assumed of trained weights
  std::size_t batch = 1;  ///< gradients are those of the mean loss times this
};

/// A share of initial weights: normal numbers of that standard deviation, cut off at +-largest.
[[nodiscard]] ShareMatrix draw_piece(std::size_t rows, std::size_t cols, double deviation, int scale, double largest,
                                     SeededRandom& random);

}  // namespace blindfl::protocol
