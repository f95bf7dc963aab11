#pragma once

#include <torch/torch.h>

#include <functional>
#include <optional>
#include <vector>

#include "blindfl/train/trainer.h"

namespace blindfl::train {

/// Scores of rows with their labels, at B: rows that do not count, or have no weight, are left out.
struct Evaluation {
  std::vector<double> predictions;  ///< probabilities, one column per class or of label 1; expected values or counts
  std::vector<double> labels;
  std::vector<double> weights = {};  ///< of the rows; empty: all count alike
  std::size_t columns = 1;
  double loss = 0;  ///< as training has it, with the weights of classes
};

/// What scores say of their rows: see `Evaluation::predictions`.
using Predictions = std::function<torch::Tensor(const torch::Tensor& scores)>;

/// Measures of `run/metrics.h` take what comes back. `loss` is the training's. `weights` are those of the rows of
/// `labels`; none: all count alike. `counts` says which of them count at all; none: all do. Nothing if no row does, and
/// has a weight above 0.
/// Throws InvalidArgument if there are not as many scores as labels, weights or rows that may count.
[[nodiscard]] std::optional<Evaluation> evaluate_scores(const WeightedLoss& loss, const Predictions& predictions,
                                                        const torch::Tensor& scores, const std::vector<double>& labels,
                                                        const std::vector<double>& weights = {},
                                                        const std::vector<bool>& counts = {});

}  // namespace blindfl::train
