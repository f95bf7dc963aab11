#pragma once

#include <cstddef>
#include <optional>

#include "blindfl/nn/shared_loss.h"
#include "blindfl/nn/shared_models.h"

namespace blindfl::data {
class RowSource;
}

namespace blindfl::nn {

/// The mean loss of all rows, to B alone: no score is opened. At A: nothing.
/// The caller sees to it that there are at least a thousand rows or all there are: the mean of a few tells of each.
/// Cost: a forward pass and the loss's functions for each batch; one message of 8 bytes. Reveals: the mean to B, with
/// noise of A's whose standard deviation is about a thousandth, and rounded; to both whether all values were in range.
/// Throws InvalidArgument if there are no rows; OutOfRange at both parties, and opens nothing; as the loss does.
[[nodiscard]] std::optional<double> shared_mean_loss(SharedModel& model, SharedLossImpl& loss,
                                                     const data::RowSource& rows, std::size_t batch);

}  // namespace blindfl::nn
