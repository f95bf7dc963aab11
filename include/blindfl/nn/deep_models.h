#pragma once

#include <torch/torch.h>

#include <vector>

#include "blindfl/nn/embed_matmul.h"
#include "blindfl/nn/models.h"

// Models of two source layers, one for numeric features and one for categorical fields. The parties may hold different
// kinds: one only numbers, the other only categories. What follows the source layers is B's own, and a module by
// itself, so that a plain model can have the very same.

namespace blindfl::nn {

/// Options of the two source layers.
struct TwoSourceOptions {
  TwoSourceOptions();

  MatMulOptions numeric;
  EmbedMatMulOptions categories;
};

/// What Wide & Deep does with its two outputs: the deep one goes through a multi-layer perceptron, the wide one is
/// added to the scores.
class WideDeepTopImpl : public torch::nn::Module {
 public:
  /// `inputs` is the width of the embeddings, for the bias' start.
  WideDeepTopImpl(std::size_t inputs, const std::vector<std::size_t>& hidden, std::size_t outputs,
                  Activation activation);
  /// `wide` is undefined where there are no numeric features.
  torch::Tensor forward(const torch::Tensor& wide, const torch::Tensor& deep);

  torch::Tensor bias;
  torch::nn::Sequential layers;
};
TORCH_MODULE(WideDeepTop);

/// Wide & Deep, the paper's Figure 4: MatMul for the numeric features (the wide part), Embed-MatMul for the categorical
/// ones (the deep part).
class WideDeepImpl : public FederatedModule {
 public:
  /// `hidden` are the widths of the deep part's hidden layers, at least one; the first is the source layer's.
  /// Throws InvalidArgument if there are no categorical fields, or as the layers do.
  WideDeepImpl(const protocol::Sessions& sessions, const PerPeer<FeatureShape>& numeric,
               const PerPeer<CategoryShape>& categories, const std::vector<std::size_t>& hidden,
               std::size_t outputs = 1, Activation activation = Activation::kRelu,
               const PerPeer<TwoSourceOptions>& options = TwoSourceOptions());
  torch::Tensor forward(const data::Batch& batch);

  MatMul wide{nullptr};  ///< empty if nobody has numeric features
  EmbedMatMul deep;
  WideDeepTop top;
};
TORCH_MODULE(WideDeep);

/// The shape of a DLRM.
struct DlrmShape {
  /// Widths of the bottom perceptron's hidden layers, for the numeric features; the first is the source layer's.
  std::vector<std::size_t> bottom{64};
  std::size_t vectors = 8;    ///< that the embedded fields are mixed into
  std::size_t dimension = 8;  ///< of each, and of the bottom perceptron's output
  std::vector<std::size_t> top{64};
};

/// What DLRM does with its two outputs: the numeric one goes through the bottom perceptron and becomes one more vector;
/// the products of all pairs of vectors, with the bottom's, go through the top perceptron.
class DlrmTopImpl : public torch::nn::Module {
 public:
  /// `numeric` and `embedded` are the numbers of inputs of the source layers; no numeric inputs, no bottom perceptron.
  DlrmTopImpl(std::size_t numeric, std::size_t embedded, const DlrmShape& shape, std::size_t outputs,
              Activation activation);
  /// `numeric` is undefined where there are no numeric features.
  torch::Tensor forward(const torch::Tensor& numeric, const torch::Tensor& embedded);

  torch::Tensor bottom_bias;
  torch::nn::Sequential bottom{nullptr};
  torch::Tensor embedded_bias;
  torch::nn::Sequential top;

 private:
  DlrmShape shape_;
};
TORCH_MODULE(DlrmTop);

/// DLRM on two parties' features. Its interactions are between mixtures of all embedded fields of both parties, which
/// the Embed-MatMul layer makes: a vector for each field alone, opened to B, would tell B which rows share a category.
class DlrmImpl : public FederatedModule {
 public:
  /// Throws InvalidArgument if there are no categorical fields, fewer than two vectors, or as the layers do.
  DlrmImpl(const protocol::Sessions& sessions, const PerPeer<FeatureShape>& numeric,
           const PerPeer<CategoryShape>& categories, const DlrmShape& shape = {}, std::size_t outputs = 1,
           Activation activation = Activation::kRelu, const PerPeer<TwoSourceOptions>& options = TwoSourceOptions());
  torch::Tensor forward(const data::Batch& batch);

  MatMul numeric{nullptr};  ///< empty if nobody has numeric features
  EmbedMatMul embedded;
  DlrmTop top;
};
TORCH_MODULE(Dlrm);

}  // namespace blindfl::nn
