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

/// The mean loss of all rows and, for classes, the accuracy, to B alone: no score is opened, and not whether a row is
/// right. At A: nothing. `least_rows` is lower in tests alone.
/// Cost: a forward pass and the loss's functions for each batch; for classes a comparison of each row; a message of 8
/// bytes for each mean. Reveals: the means to B, with noise of A's whose standard deviation is about a thousandth, and
/// rounded; to both whether all values were in range.
/// Throws InvalidArgument if there are fewer than `least_rows`, before anything is sent; OutOfRange at both parties,
/// and opens nothing; as the loss does.
[[nodiscard]] std::optional<SharedMeans> shared_means(SharedModel& model, SharedLossImpl& loss,
                                                      const data::RowSource& rows, std::size_t batch,
                                                      std::size_t least_rows = kLeastRowsOfMeanLoss);

}  // namespace blindfl::nn
