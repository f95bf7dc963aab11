#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "blindfl/lab/two_party_training.h"

namespace blindfl::lab::paper {

/// What a mini-batch of B with several A's takes.
struct SeveralPartiesCost {
  double seconds = 0;         ///< of the median step after the first, at B
  double seconds_before = 0;  ///< keys, masks, initial weights and the first step
  std::uint64_t bytes = 0;    ///< payloads that all parties together send, per step after the first
};

/// Trains a generalised linear model under an open top for `steps` mini-batches after a first one: B and as many A's as
/// there are tables of theirs, all threads of this process, each A with a channel to B alone. `model` is the one of B
/// with any one of the A's. Throws InvalidArgument if it has hidden layers or a shared top; as layers do.
[[nodiscard]] SeveralPartiesCost train_several_parties(const TwoPartyModel& model, std::span<const data::Dataset> of_as,
                                                       const data::Dataset& of_b, std::size_t steps);

}  // namespace blindfl::lab::paper
