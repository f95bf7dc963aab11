#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <vector>

#include "blindfl/nn/deep_models.h"
#include "blindfl/nn/embed_matmul.h"
#include "blindfl/nn/models.h"

// Factorisation machines. A plain one has a weight and a vector of k factors for each feature:
//
//   score = b + sum_i w_i x_i + sum_{i<j} <v_i, v_j> x_i x_j
//         = b + sum_i w_i x_i + 1/2 sum_f (sum_i v_if x_i)^2 - 1/2 sum_i |v_i|^2 x_i^2
//
// Where features are 0 or 1, x_i^2 is x_i, and the last sum is one of weights: with u_i = w_i - |v_i|^2 / 2
//
//   score = b + z_0 + 1/2 sum_f z_f^2,   z = [X_A | X_B] [u | V]
//
// is the same machine, and z is one MatMul of width 1 + k. It is exact for such features, one-hot ones among them. For
// others the model has a square of each feature beside the products of pairs, with the weight |v_i|^2 / 2, which a
// plain factorisation machine has not.

namespace blindfl::nn {

/// Factors of a feature where nothing else is said.
constexpr std::size_t kDefaultFactors = 8;

/// The width of the source layer: a weight and `factors` factors of each feature. Throws InvalidArgument without any.
[[nodiscard]] std::size_t factorization_width(std::size_t factors);

/// `z_0 + 1/2 sum_f z_f^2` of each row of z, rows x (1 + k): rows x 1.
[[nodiscard]] torch::Tensor factorization_scores(const torch::Tensor& z);

/// What a factorisation machine does with its source layer's output: B's own part, also that of a plain model.
class FactorizationTopImpl : public torch::nn::Module {
 public:
  FactorizationTopImpl();
  torch::Tensor forward(const torch::Tensor& z) { return factorization_scores(z) + bias; }

  torch::Tensor bias;
};
TORCH_MODULE(FactorizationTop);

/// A factorisation machine over numeric and one-hot features of both parties, for losses of one score: logistic, linear
/// and Poisson. Derivatives by factors are those by the score times z_f: with scores of some size `derivative.largest`
/// is reached earlier than in a regression.
class FactorizationMachineImpl : public FederatedModule {
 public:
  /// Throws InvalidArgument without factors, or as the layer does.
  FactorizationMachineImpl(const protocol::Sessions& sessions, const PerPeer<FeatureShape>& shapes,
                           std::size_t factors = kDefaultFactors,
                           const PerPeer<MatMulOptions>& options = MatMulOptions());
  torch::Tensor forward(const data::Batch& batch) { return top(source(batch)); }

  MatMul source;
  FactorizationTop top;
};
TORCH_MODULE(FactorizationMachine);

/// What DeepFM does with its two outputs: the embedded one goes through a multi-layer perceptron, the score of the
/// factorisation machine is added.
class DeepFmTopImpl : public torch::nn::Module {
 public:
  /// As WideDeepTop, of one score.
  DeepFmTopImpl(std::size_t inputs, const std::vector<std::size_t>& hidden, Activation activation);
  /// `z` is rows x (1 + k); undefined where there are no numeric features.
  torch::Tensor forward(const torch::Tensor& z, const torch::Tensor& embedded);

  WideDeepTop perceptron;
};
TORCH_MODULE(DeepFmTop);

/// DeepFM: a factorisation machine over numeric and one-hot features beside Embed-MatMul and a perceptron over
/// categorical fields. Each has features of its own: embeddings of fields do not interact as factors do, since vectors
/// of single fields, opened, would tell B which rows share a category.
class DeepFmImpl : public FederatedModule {
 public:
  /// `hidden` as WideDeep. Throws InvalidArgument if there are no categorical fields, no numeric features or no
  /// factors, or as the layers do.
  DeepFmImpl(const protocol::Sessions& sessions, const PerPeer<FeatureShape>& numeric,
             const PerPeer<CategoryShape>& categories, std::size_t factors, const std::vector<std::size_t>& hidden,
             Activation activation = Activation::kRelu, const PerPeer<TwoSourceOptions>& options = TwoSourceOptions());
  torch::Tensor forward(const data::Batch& batch);

  MatMul source;  ///< of the factorisation machine
  EmbedMatMul deep;
  DeepFmTop top;
};
TORCH_MODULE(DeepFm);

}  // namespace blindfl::nn
