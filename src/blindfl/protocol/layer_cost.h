#pragma once

#include <cstdint>

#include "blindfl/he/scheme.h"
#include "blindfl/protocol/matmul_params.h"

// What a MatMul layer will cost, before it is made: bytes exactly, from the plans that its messages follow; seconds as
// the schemes expect them, on one core. docs/planner.md has the model and how far it is off.

namespace blindfl::protocol {

/// The line between the parties: public, and the same at both.
struct Link {
  double bits_per_second = 1e9;
  double round_trip = 1e-3;  ///< seconds
};

/// What one training step costs, or what comes once before the first.
struct StepCost {
  double seconds_a = 0;  ///< of computing, at each party
  double seconds_b = 0;
  std::uint64_t bytes_to_a = 0;
  std::uint64_t bytes_to_b = 0;
  int rounds = 0;  ///< round trips

  [[nodiscard]] std::uint64_t bytes() const { return bytes_to_a + bytes_to_b; }
  /// As if the parties and the line always took turns, which they do but for the two halves of a forward pass.
  [[nodiscard]] double seconds(const Link& link) const;
  StepCost& operator+=(const StepCost& other);
};

/// What a layer, or one party's features in it, cost.
struct LayerCost {
  StepCost setup;  ///< what is sent once; keys are not in it
  StepCost step;   ///< a full batch, forward, backward and update; opening Z is not in it, which is the same for all
  /// Bytes of ciphertexts that stay with a party between passes.
  std::uint64_t memory_a = 0;
  std::uint64_t memory_b = 0;

  LayerCost& operator+=(const LayerCost& other);
};

/// What the features of `party` in a layer cost under `scheme`, with the update that `params` has. Nothing if there are
/// none. Rows are taken to have all the non-zero features that they may have.
/// Throws InvalidArgument, with the reason, if the scheme cannot do it.
[[nodiscard]] LayerCost cost_of(const MatMulParams& params, Party party, const he::Scheme& scheme);

}  // namespace blindfl::protocol
