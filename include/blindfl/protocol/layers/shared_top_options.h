#pragma once

#include <cstddef>
#include <string>

#include "blindfl/protocol/layers/run_length.h"
#include "blindfl/protocol/layers/sgd_plan.h"

namespace blindfl::protocol {

/// Fractional bits of values between layers of a shared top.
constexpr int kSharedScale = 18;

/// Room that source layers leave above their outputs for a top on shares, in bits: none beyond what Z needs, for lifts
/// with room are exact.
constexpr int kSharedOutputRoom = 0;

/// Weights of rows are below this: derivatives that they multiply are assumed to be as small.
constexpr double kRowWeightLimit = 16;

/// Derivatives of the summed loss by scores are watched up to this, where they are not differences of probabilities.
constexpr double kLargestWatchedDerivative = 256;

/// Public facts that all layers of a shared top need: the same at both parties.
struct SharedTopOptions {
  std::size_t batch = 128;  ///< the most rows a batch may have
  /// How training will go, and how long the run is: they size what hides. As for source layers; `run.layers` are all
  /// parts that share what the run may give away: source layers, layers of the top, functions of the loss.
  SgdOptions sgd{};
  RunLength run{};
  /// Assumed of trained weights, and of the values that hidden layers take.
  double largest_weight = 64;
  double largest_value = 32;
  /// Smooth functions of hidden layers and of scores are right up to this, on both sides of 0. What leaves it is
  /// noticed by `nn::check_ranges`.
  double hidden_range = 16;
  double score_range = 48;
  /// B's rows count differently in the loss, each with a weight from 0 to below `kRowWeightLimit`. That they do is
  /// public, since it takes more messages; the weights are B's alone.
  bool row_weights = false;
  std::string scheme{};  ///< with slots and element-wise products; empty: the session's default
};

}  // namespace blindfl::protocol
