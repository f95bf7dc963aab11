#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "blindfl/data/batches.h"
#include "blindfl/nn/federated_optimizer.h"

namespace blindfl::train {

struct TrainOptions {
  std::size_t epochs = 10;
  std::size_t batch = 128;
  nn::SgdOptions sgd{};  ///< its schedule counts steps over all epochs
  /// Order of the rows. Both parties must have the same.
  std::uint64_t order_seed = 1;
};

/// Where training is, after a step.
struct StepReport {
  std::size_t epoch = 0;  ///< from 1
  std::size_t epochs = 0;
  std::size_t step = 0;  ///< over all epochs, from 1
  std::size_t steps = 0;
  std::size_t rows = 0;        ///< in this step
  std::optional<double> loss;  ///< of this step; only B knows
};

using Forward = std::function<torch::Tensor(const data::Batch&)>;
using Loss = std::function<torch::Tensor(const torch::Tensor& scores, const torch::Tensor& labels)>;
using Observer = std::function<void(const StepReport&)>;

/// Trains a model on this party's rows. Both parties call it at the same time with the same options, and with rows of
/// the same people in the same order. `forward` runs `model`.
/// Throws InvalidArgument if there are no rows, options are out of range or `sgd.steps` are too few, ConfigError if the
/// parties have different options or numbers of rows; whatever the protocol throws.
void fit(const nn::FederatedModule& model, const Forward& forward, const Loss& loss, const data::Dataset& rows,
         const TrainOptions& options, const Observer& observer = {});

/// At B: the model's scores, a row for each row of data. At A: an empty tensor. No gradients are kept.
[[nodiscard]] torch::Tensor score(const Forward& forward, const data::Dataset& rows, std::size_t batch);

}  // namespace blindfl::train
