#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "blindfl/nn/matmul.h"
#include "blindfl/tensor/activation.h"
#include "blindfl/tensor/family.h"

namespace blindfl::nn {

using blindfl::Family;

// With several A's, models are made like source layers: B passes all sessions, and what it has in common with each A.

/// The mean loss of a batch. At A, where there are neither scores nor labels, a value without meaning whose
/// `backward()` works all the same. Throws DataError if a label is not one of the family's.
[[nodiscard]] torch::Tensor loss(Family family, const torch::Tensor& scores, const torch::Tensor& labels);

/// The same where a row's loss counts `weights` times: the sum over the rows, divided by their number.
[[nodiscard]] torch::Tensor weighted_loss(Family family, const torch::Tensor& scores, const torch::Tensor& labels,
                                          const torch::Tensor& weights);

/// Probabilities (one column per class, or of label 1), expected values or expected counts.
[[nodiscard]] torch::Tensor predictions(Family family, const torch::Tensor& scores);

/// Logistic, multinomial logistic, linear and Poisson regression: `X_A W_A + X_B W_B + bias`.
class GeneralizedLinearImpl : public FederatedModule {
 public:
  /// `outputs` is the number of classes for kMultinomial, 1 otherwise.
  GeneralizedLinearImpl(const protocol::Sessions& sessions, const PerPeer<FeatureShape>& shapes,
                        std::size_t outputs = 1, const PerPeer<MatMulOptions>& options = MatMulOptions());
  torch::Tensor forward(const data::Batch& batch) { return source(batch) + bias; }

  MatMul source;
  torch::Tensor bias;
};
TORCH_MODULE(GeneralizedLinear);

using blindfl::Activation;

/// A multi-layer perceptron of any depth. Its first layer is the source layer; what follows is B's own.
class MlpImpl : public FederatedModule {
 public:
  /// `hidden` are the widths of the hidden layers, at least one, each followed by the activation.
  MlpImpl(const protocol::Sessions& sessions, const PerPeer<FeatureShape>& shapes,
          const std::vector<std::size_t>& hidden, std::size_t outputs, Activation activation = Activation::kRelu,
          const PerPeer<MatMulOptions>& options = MatMulOptions());
  torch::Tensor forward(const data::Batch& batch);

  MatMul source;
  torch::Tensor bias;
  torch::nn::Sequential top;
};
TORCH_MODULE(Mlp);

/// The layers after a source layer of width hidden[0]: activation and Linear in turn. Also what a plain model of the
/// same shape has after its first layer.
[[nodiscard]] torch::nn::Sequential make_top(const std::vector<std::size_t>& hidden, std::size_t outputs,
                                             Activation activation);

/// A bias as torch's Linear starts it. Not zeros: a row without features would then sit exactly on ReLU's kink, where
/// the last bit of Z decides about its whole derivative.
[[nodiscard]] torch::Tensor initial_bias(std::size_t inputs, std::size_t width);

}  // namespace blindfl::nn
