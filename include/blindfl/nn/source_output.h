#pragma once

#include <torch/torch.h>

#include <functional>
#include <vector>

#include "blindfl/protocol/session/output.h"

namespace blindfl::nn {

/// This party's shares of what one source layer, or the sum of several, made of a batch: not yet opened.
struct SourceOutput {
  /// Takes part in one layer's backward pass for this forward pass, and keeps the gradients.
  using Backward = std::function<void(const protocol::Derivative&)>;
  /// How the output is opened and its derivative taken; layers that are added up must agree.
  struct Opening {
    int scale = 0;
    FixedPointSpec derivative;
    protocol::Top top = protocol::Top::kOpen;  ///< under a shared one it is never opened
  };

  std::vector<protocol::SessionShare> shares;  ///< one for each session
  std::size_t rows = 0;                        ///< rows with data; what follows is padding
  Opening opening;
  std::vector<Backward> parts;  ///< of the layers, in the order of their forward passes

  /// The sum, to be opened once: shares of one session are added up. Throws InvalidArgument if the two cannot be opened
  /// together.
  friend SourceOutput operator+(const SourceOutput& a, const SourceOutput& b);
};

/// Opens an output to B. At B: Z, `rows` x OUT, with a gradient function; at A: an empty tensor, 0 x OUT, with one too,
/// so that both parties' `backward()` walk through the same protocol step.
/// Reveals: Z, rounded, to B. Throws InvalidArgument under a shared top: that computes on the shares, and gives its own
/// of the derivative to `parts`.
[[nodiscard]] torch::Tensor open(const SourceOutput& output);

}  // namespace blindfl::nn
