#pragma once

#include <torch/torch.h>

#include <vector>

#include "blindfl/lab/paper/category_data.h"
#include "blindfl/train/trainer.h"

namespace blindfl::lab::paper {

enum class DeepModel { kWideDeep, kDlrm };

/// What a training left: losses of its mini-batches, and scores of the test rows.
struct DeepTraining {
  std::vector<double> losses;
  torch::Tensor scores;
};

/// Between two parties in this process, open top, embedding tables by oblivious transfer.
[[nodiscard]] DeepTraining train_deep(DeepModel model, const CategoryData& data, const train::TrainOptions& options);
/// The same model in plain libtorch, on the columns of both parties or on B's alone; from a start of its own.
[[nodiscard]] DeepTraining train_deep_joined(DeepModel model, const CategoryData& data,
                                             const train::TrainOptions& options);
[[nodiscard]] DeepTraining train_deep_of_b(DeepModel model, const CategoryData& data,
                                           const train::TrainOptions& options);

}  // namespace blindfl::lab::paper
