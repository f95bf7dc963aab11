#pragma once

#include <cstddef>
#include <optional>

#include "blindfl/nn/shared_loss.h"
#include "blindfl/nn/shared_models.h"

namespace blindfl::data {
class RowSource;
}

namespace blindfl::nn {

/// The mean of a few losses tells of each of their rows.
constexpr std::size_t kLeastRowsOfMeanLoss = 1000;

/// The mean loss of all rows, to B alone: no score is opened. At A: nothing. `least_rows` is lower in tests alone.
/// Cost: a forward pass and the loss's functions for each batch; one message of 8 bytes. Reveals: the mean to B, with
/// noise of A's whose standard deviation is about a thousandth, and rounded; to both whether all values were in range.
/// Throws InvalidArgument if there are fewer than `least_rows`, before anything is sent; OutOfRange at both parties,
/// and opens nothing; as the loss does.
[[nodiscard]] std::optional<double> shared_mean_loss(SharedModel& model, SharedLossImpl& loss,
                                                     const data::RowSource& rows, std::size_t batch,
                                                     std::size_t least_rows = kLeastRowsOfMeanLoss);

}  // namespace blindfl::nn
