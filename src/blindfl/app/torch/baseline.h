#pragma once

#include <torch/torch.h>

#include <optional>

#include "blindfl/app/job/job.h"
#include "blindfl/app/plan/party_shape.h"
#include "blindfl/app/torch/aligned_rows.h"
#include "blindfl/train/trainer.h"

namespace blindfl::app {

/// What a model of B's features alone is trained with: what the federated one was.
struct BaselineSetup {
  const job::Model& model;
  const PartyShape& shape;  ///< B's
  std::size_t outputs = 1;
  train::WeightedLoss loss;
  train::TrainOptions training{};
  std::uint64_t steps = 0;  ///< as many as the model took that the run keeps
  /// What would take longer, by its first steps, is given up.
  double most_seconds = 60;
};

/// What came of it.
struct Baseline {
  torch::Tensor scores;  ///< of the test rows, one for each; undefined if it was given up
  double seconds = 0;    ///< that it took, or would have taken
};

/// Trains a plain model of the same kind on B's own features, and scores with it: how good B would be without A. For a
/// model with embeddings, and a B that has no categories, that is a linear one. Nothing of it is kept, and nothing
/// leaves: B does it when A has left.
/// Throws InvalidArgument if B has no features.
[[nodiscard]] Baseline train_baseline(const BaselineSetup& setup, const AlignedRows& training, const AlignedRows& test);

}  // namespace blindfl::app
