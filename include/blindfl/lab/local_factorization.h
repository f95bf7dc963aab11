#pragma once

#include <torch/torch.h>

#include <cstddef>

#include "blindfl/lab/local_deep.h"
#include "blindfl/lab/local_model.h"
#include "blindfl/nn/factorization.h"

// Factorisation machines and DeepFM in plain libtorch, on all columns as if they lay side by side or on one party's.

namespace blindfl::lab {

/// Where the squares of single features are, which a factorisation machine has not.
enum class Diagonal {
  kInWeights,   ///< among the linear weights, as in `nn::FactorizationMachine`: the same for features that are 0 or 1
  kSubtracted,  ///< `- 1/2 sum_i |v_i|^2 x_i^2`, as in textbooks: for all features
};

class LocalFactorizationMachineImpl : public torch::nn::Module {
 public:
  LocalFactorizationMachineImpl(std::size_t inputs, std::size_t factors, Diagonal diagonal = Diagonal::kInWeights);

  /// `features` rows x inputs, dense or sparse.
  torch::Tensor forward(const torch::Tensor& features);

  torch::Tensor weight;  ///< inputs x (1 + factors), as the source layer has it: weights, then factors
  nn::FactorizationTop top;

 private:
  Diagonal diagonal_;
};
TORCH_MODULE(LocalFactorizationMachine);

/// Trains with the same batches, in the same order and at the same learning rates, as `train::fit` does.
void fit(LocalFactorizationMachine& model, nn::Family family, const data::Table& rows,
         const train::TrainOptions& options);

/// The model's scores, a row for each row of the table.
[[nodiscard]] torch::Tensor score(LocalFactorizationMachine& model, const data::Table& rows);

using LocalDeepFmImpl = LocalDeepImpl<nn::DeepFmTop>;
TORCH_MODULE(LocalDeepFm);

}  // namespace blindfl::lab
