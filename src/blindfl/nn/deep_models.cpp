#include "blindfl/nn/deep_models.h"

#include "blindfl/base/error.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/nn/model_parts.h"

namespace blindfl::nn {

namespace {

/// A perceptron from `inputs` over hidden layers to outputs.
torch::nn::Sequential perceptron(std::size_t inputs, const std::vector<std::size_t>& hidden, std::size_t outputs,
                                 Activation activation) {
  torch::nn::Sequential layers(torch::nn::Linear(torch_size(inputs), torch_size(hidden.front())));
  layers->extend(*make_top(hidden, outputs, activation));
  return layers;
}

}  // namespace

// Not in the header: as a default argument it makes g++ 12 warn of members that it believes uninitialised.
TwoSourceOptions::TwoSourceOptions() {
  numeric.run.layers = categories.run.layers = 2;
}

WideDeepTopImpl::WideDeepTopImpl(std::size_t inputs, const std::vector<std::size_t>& hidden, std::size_t outputs,
                                 Activation activation)
    : bias(register_parameter("bias", initial_bias(inputs, first_of(hidden, "the deep part")))),
      layers(register_module("layers", make_top(hidden, outputs, activation))) {}

torch::Tensor WideDeepTopImpl::forward(const torch::Tensor& wide, const torch::Tensor& deep) {
  const torch::Tensor scores = layers->forward(deep + bias);
  return wide.defined() ? scores + wide : scores;
}

WideDeepImpl::WideDeepImpl(const protocol::Sessions& sessions, const PerPeer<FeatureShape>& numeric,
                           const PerPeer<CategoryShape>& categories, const std::vector<std::size_t>& hidden,
                           std::size_t outputs, Activation activation, const PerPeer<TwoSourceOptions>& options)
    : wide(numeric_source(sessions, numeric, outputs, numeric_options(options))),
      deep(register_module("deep", EmbedMatMul(sessions, with_fields(sessions, categories),
                                               first_of(hidden, "the deep part"), category_options(options)))),
      top(register_module("top", WideDeepTop(embedded_inputs(sessions, categories), hidden, outputs, activation))) {
  if (wide) register_module("wide", wide);
}

torch::Tensor WideDeepImpl::forward(const data::Batch& batch) {
  const torch::Tensor from_numbers = wide ? wide(batch) : torch::Tensor();
  return top(from_numbers, deep(batch));
}

DlrmTopImpl::DlrmTopImpl(std::size_t numeric, std::size_t embedded, const DlrmShape& shape, std::size_t outputs,
                         Activation activation)
    : embedded_bias(register_parameter("embedded_bias", initial_bias(embedded, shape.vectors * shape.dimension))),
      shape_(shape) {
  require<InvalidArgument>(shape.vectors >= 2 && shape.dimension > 0, "DLRM: there are no pairs of ", shape.vectors,
                           " vectors of dimension ", shape.dimension);
  (void)first_of(shape.top, "DLRM's top");
  std::size_t vectors = shape.vectors;
  std::size_t inputs = 0;
  if (numeric > 0) {
    bottom_bias = register_parameter("bottom_bias", initial_bias(numeric, first_of(shape.bottom, "DLRM's bottom")));
    bottom = register_module("bottom", make_top(shape.bottom, shape.dimension, activation));
    ++vectors;
    inputs = shape.dimension;
  }
  inputs += vectors * (vectors - 1) / 2;
  top = register_module("top", perceptron(inputs, shape.top, outputs, activation));
}

torch::Tensor DlrmTopImpl::forward(const torch::Tensor& numeric, const torch::Tensor& embedded) {
  const std::int64_t rows = embedded.size(0);
  torch::Tensor vectors =
      (embedded + embedded_bias).view({rows, torch_size(shape_.vectors), torch_size(shape_.dimension)});
  torch::Tensor from_numbers;
  if (numeric.defined()) {
    from_numbers = bottom->forward(numeric + bottom_bias);
    vectors = torch::cat({vectors, from_numbers.unsqueeze(1)}, 1);
  }
  const torch::Tensor pairs = torch::bmm(vectors, vectors.transpose(1, 2));
  const torch::Tensor places = torch::tril_indices(vectors.size(1), vectors.size(1), -1);
  torch::Tensor inputs = pairs.index({torch::indexing::Slice(), places[0], places[1]});
  if (numeric.defined()) inputs = torch::cat({from_numbers, inputs}, 1);
  return top->forward(inputs);
}

DlrmImpl::DlrmImpl(const protocol::Sessions& sessions, const PerPeer<FeatureShape>& numeric_shapes,
                   const PerPeer<CategoryShape>& categories, const DlrmShape& shape, std::size_t outputs,
                   Activation activation, const PerPeer<TwoSourceOptions>& options)
    : numeric(numeric_source(sessions, numeric_shapes, shape.bottom.empty() ? 1 : shape.bottom.front(),
                             numeric_options(options))),
      embedded(register_module("embedded", EmbedMatMul(sessions, with_fields(sessions, categories),
                                                       shape.vectors * shape.dimension, category_options(options)))),
      top(register_module("top", DlrmTop(all_features(sessions, numeric_shapes), embedded_inputs(sessions, categories),
                                         shape, outputs, activation))) {
  if (numeric) register_module("numeric", numeric);
}

torch::Tensor DlrmImpl::forward(const data::Batch& batch) {
  const torch::Tensor from_numbers = numeric ? numeric(batch) : torch::Tensor();
  return top(from_numbers, embedded(batch));
}

}  // namespace blindfl::nn
