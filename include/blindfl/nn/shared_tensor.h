#pragma once

#include <cstddef>
#include <functional>

#include "blindfl/nn/source_output.h"
#include "blindfl/protocol/layers/shared_top_options.h"
#include "blindfl/share/share_matrix.h"

// What flows through a top model that nobody sees into (`protocol::Top::kShared`): shares, on the way up and back.

namespace blindfl::nn {

using protocol::kSharedScale;

/// This party's share of the derivative of the summed loss by some values: at `kSharedScale` modulo 2^38, or at that
/// scale or a finer one modulo 2^128. Padding is 0 in the sum.
struct SharedDerivative {
  ShareMatrix share;
};

/// This party's share of values that a layer made of a batch, a row for each row of the batch, and the way back from
/// them. Values are those of one session.
struct SharedTensor {
  /// Takes part in the backward pass of everything below, once for each forward pass. Both parties call it at the same
  /// point.
  using Backward = std::function<void(const SharedDerivative&)>;

  protocol::Session* session = nullptr;
  ShareMatrix share;     ///< at `kSharedScale`, padding included
  std::size_t rows = 0;  ///< rows with data; what follows is padding
  Backward backward{};

  /// Shares of the sum, in the narrower of the two rings; the derivative goes to both. Throws InvalidArgument if shapes
  /// or sessions differ.
  friend SharedTensor operator+(const SharedTensor& a, const SharedTensor& b);
};

/// What a source layer under a shared top made of a batch, or the sum of several: local, nothing is sent.
/// Throws InvalidArgument under an open top, or if there are several sessions.
[[nodiscard]] SharedTensor shared_output(const SourceOutput& output);

}  // namespace blindfl::nn
