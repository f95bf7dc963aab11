#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "blindfl/nn/deep_models.h"
#include "blindfl/nn/matmul.h"
#include "blindfl/nn/models.h"
#include "blindfl/nn/shared_loss.h"
#include "blindfl/nn/shared_modules.h"

// Models whose top nobody sees into: the parties hold shares of Z, of every weight and of every derivative, and B
// learns nothing of a row until its score is opened, rounded.

namespace blindfl::nn {

/// Scores are opened at this many fractional bits where nothing else is agreed on: finer ones tell B of A's features.
constexpr int kDefaultScoreBits = 4;

/// A model with a shared top: what trainers and programs need of it.
class SharedModel : public FederatedModule {
 public:
  /// This party's share of the scores of a batch. Reveals: nothing.
  virtual SharedTensor scores(const data::Batch& batch) = 0;

  /// Opens scores to B, rounded to `score_bits` fractional bits. At B: a row for each row of the batch. At A: no rows.
  /// A row is to be scored once per model: several roundings of the same score tell more of it than one.
  /// Cost: 8 bytes a score, A to B; before that `check_ranges`, where the model has functions, so that no score is
  /// opened that is not one. Reveals: the rounded scores to B; to both whether all values were in range.
  /// Throws OutOfRange at both parties if they were not; ProtocolError at B if a score is larger than it can be.
  [[nodiscard]] torch::Tensor open_scores(const SharedTensor& scores, int score_bits = kDefaultScoreBits);

 protected:
  explicit SharedModel(protocol::Session& session) : opening_(session.new_layer()) {}

 private:
  std::uint32_t opening_;
};

/// Options of a source layer whose output a shared top takes.
[[nodiscard]] MatMulOptions for_shared_top(MatMulOptions options);
[[nodiscard]] EmbedMatMulOptions for_shared_top(EmbedMatMulOptions options);

/// Logistic, multinomial logistic, linear and Poisson regression: `X_A W_A + X_B W_B + bias`.
class SharedGeneralizedLinearImpl : public SharedModel {
 public:
  /// `outputs` is the number of classes for kMultinomial, 1 otherwise.
  SharedGeneralizedLinearImpl(protocol::Session& session, const FeatureShape& shape, std::size_t outputs = 1,
                              const MatMulOptions& options = {}, const SharedTopOptions& top_options = {});
  SharedTensor scores(const data::Batch& batch) override { return bias(shared_output(source->shares(batch))); }

  MatMul source;
  SharedBias bias;
};
TORCH_MODULE(SharedGeneralizedLinear);

/// A multi-layer perceptron of any depth, all of it on shares.
class SharedMlpImpl : public SharedModel {
 public:
  /// `hidden` are the widths of the hidden layers, at least one, each followed by the activation.
  SharedMlpImpl(protocol::Session& session, const FeatureShape& shape, const std::vector<std::size_t>& hidden,
                std::size_t outputs, Activation activation = Activation::kRelu, const MatMulOptions& options = {},
                const SharedTopOptions& top_options = {});
  SharedTensor scores(const data::Batch& batch) override { return top(bias(shared_output(source->shares(batch)))); }

  MatMul source;
  SharedBias bias;
  SharedSequential top;
};
TORCH_MODULE(SharedMlp);

/// Wide & Deep on shares: MatMul for the numeric features, Embed-MatMul for the categorical ones.
class SharedWideDeepImpl : public SharedModel {
 public:
  /// As WideDeep.
  SharedWideDeepImpl(protocol::Session& session, const FeatureShape& numeric, const CategoryShape& categories,
                     const std::vector<std::size_t>& hidden, std::size_t outputs = 1,
                     Activation activation = Activation::kRelu, const TwoSourceOptions& options = {},
                     const SharedTopOptions& top_options = {});
  SharedTensor scores(const data::Batch& batch) override;

  MatMul wide{nullptr};  ///< empty if nobody has numeric features
  EmbedMatMul deep;
  SharedBias bias;
  SharedSequential top;
};
TORCH_MODULE(SharedWideDeep);

/// The layers after a source layer of width hidden[0] and its bias: activation and SharedLinear in turn.
[[nodiscard]] SharedSequential make_shared_top(protocol::Session& session, const std::vector<std::size_t>& hidden,
                                               std::size_t outputs, Activation activation,
                                               const SharedTopOptions& options = {});

}  // namespace blindfl::nn
