#pragma once

#include <torch/torch.h>

#include <vector>

#include "blindfl/lab/paper/category_data.h"
#include "blindfl/train/trainer.h"

namespace blindfl::lab::paper {

enum class DeepModel { kWideDeep, kDlrm };

/// Weights before training, as nobody has them together.
struct DeepStart {
  torch::Tensor weight{};               ///< of the numeric columns, A's rows first; undefined if there are none
  std::vector<torch::Tensor> tables{};  ///< of A's fields, then B's
  torch::Tensor embedded_weight{};      ///< of the embeddings, in the same order
  std::vector<torch::Tensor> top{};     ///< B's own
};

/// What a training left: losses of its mini-batches, and scores of the test rows.
struct DeepTraining {
  std::vector<double> losses;
  torch::Tensor scores;
};

/// A training between two parties, and what it began with.
struct FederatedDeepTraining : DeepTraining {
  DeepStart start;
};

/// Between two parties in this process, open top, embedding tables by oblivious transfer.
[[nodiscard]] FederatedDeepTraining train_deep(DeepModel model, const CategoryData& data,
                                               const train::TrainOptions& options);
/// The same model in plain libtorch from the same start, on the columns of both parties; or on B's alone, from B's part
/// of it. Throws InvalidArgument if the model's shape is another one without A's columns.
[[nodiscard]] DeepTraining train_deep_joined(DeepModel model, const CategoryData& data, const DeepStart& start,
                                             const train::TrainOptions& options);
[[nodiscard]] DeepTraining train_deep_of_b(DeepModel model, const CategoryData& data, const DeepStart& start,
                                           const train::TrainOptions& options);

}  // namespace blindfl::lab::paper
