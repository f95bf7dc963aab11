#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "blindfl/data/table.h"
#include "blindfl/nn/models.h"
#include "blindfl/train/trainer.h"

namespace blindfl::lab {

/// What federated models are measured against: plain libtorch on a table that one party has, or on all columns as if
/// they lay side by side.
class LocalModelImpl : public torch::nn::Module {
 public:
  /// No hidden layers make a generalised linear model, otherwise a multi-layer perceptron.
  LocalModelImpl(std::size_t inputs, const std::vector<std::size_t>& hidden, std::size_t outputs,
                 nn::Activation activation = nn::Activation::kRelu);

  /// `features` rows x inputs, dense or sparse.
  torch::Tensor forward(const torch::Tensor& features);

  torch::Tensor weight;  ///< inputs x first width, as the source layer has it
  torch::Tensor bias;
  torch::nn::Sequential top{nullptr};
};
TORCH_MODULE(LocalModel);

/// All rows of a table as a tensor: sparse tables become sparse tensors.
[[nodiscard]] torch::Tensor features_tensor(const data::Table& table);
/// What was encoded, features or categories, as a sparse tensor of numbers.
[[nodiscard]] torch::Tensor encoded_tensor(const IntMatrix& matrix);

/// Trains any module with the same batches, in the same order and at the same learning rates, as `train::fit` does.
/// `loss` is that of the rows it is given; `go_on` is asked before each step, with the number of those before.
using LossOfRows = std::function<torch::Tensor(std::span<const std::uint32_t> rows)>;
void train_steps(torch::nn::Module& module, std::size_t rows, const LossOfRows& loss,
                 const train::TrainOptions& options, const std::function<bool(std::uint64_t)>& go_on);

/// All epochs of that. `forward` gives the scores of the rows it is given.
using ForwardRows = std::function<torch::Tensor(std::span<const std::uint32_t> rows)>;
void fit(torch::nn::Module& module, const ForwardRows& forward, nn::Family family, const std::vector<double>& labels,
         const train::TrainOptions& options);
void fit(LocalModel& model, nn::Family family, const data::Table& rows, const train::TrainOptions& options);

/// The model's scores, a row for each row of the table.
[[nodiscard]] torch::Tensor score(LocalModel& model, const data::Table& rows);

}  // namespace blindfl::lab
