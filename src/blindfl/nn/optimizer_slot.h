#pragma once

#include <cstddef>
#include <optional>

#include "blindfl/nn/federated_optimizer.h"
#include "blindfl/protocol/layers/layer_state.h"

namespace blindfl::nn {

/// A federated parameter and what its optimizer remembers of it.
struct FederatedOptimizer::Slot {
  FederatedParameter parameter;
  std::optional<ShareMatrix> momentum;
  std::size_t most_passes = 1;
  std::size_t applied_passes = 0;  ///< of those since `zero_grad`, in the last step
};

}  // namespace blindfl::nn
