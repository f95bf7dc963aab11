#pragma once

#include <cstddef>
#include <cstdint>

#include "blindfl/he/scheme.h"
#include "layer_shapes.h"

namespace blindfl::bench {

/// One step of training, forward, backward and update. Milliseconds of each party's processor time, and bytes.
struct StepCost {
  double at_a = 0;
  double at_b = 0;
  double sent_by_a = 0;
  double sent_by_b = 0;
};

struct StepPlan {
  protocol::Update update = protocol::Update::kExchanged;
  double momentum = 0;
  std::size_t batches = 4;  ///< different ones, taken in turn
  std::size_t steps = 8;    ///< of which the median is taken
};

/// Both parties' cost of a step once all rows that the batches touch have been written: with momentum, in the window
/// that runs and in the one before.
[[nodiscard]] StepCost measure_step(const he::Scheme& scheme, const LayerShape& shape, const StepPlan& plan);

/// What it takes until B has `[[V_B]]_A`, for features of its own: once, before training.
struct OwnCost {
  double at_a = 0;  ///< milliseconds
  double at_b = 0;
  double bytes = 0;
  double memory = 0;  ///< bytes that it takes at most, both parties together
};
[[nodiscard]] OwnCost measure_own(const he::Scheme& scheme, std::size_t features);

}  // namespace blindfl::bench
