#include "blindfl/nn/factorization.h"

#include "blindfl/base/error.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/nn/model_parts.h"

namespace blindfl::nn {

std::size_t factorization_width(std::size_t factors) {
  require<InvalidArgument>(factors > 0,
                           "a factorisation machine needs factors; without any it is a generalised linear model");
  return 1 + factors;
}

torch::Tensor factorization_scores(const torch::Tensor& z) {
  const torch::Tensor squares = z.slice(1, 1).square().sum(1, /*keepdim=*/true);
  return z.slice(1, 0, 1) + 0.5 * squares;
}

FactorizationTopImpl::FactorizationTopImpl() : bias(register_parameter("bias", torch::zeros({1}))) {}

FactorizationMachineImpl::FactorizationMachineImpl(const protocol::Sessions& sessions,
                                                   const PerPeer<FeatureShape>& shapes, std::size_t factors,
                                                   const PerPeer<MatMulOptions>& options)
    : source(register_module("source", MatMul(sessions, shapes, factorization_width(factors), options))),
      top(register_module("top", FactorizationTop())) {}

DeepFmTopImpl::DeepFmTopImpl(std::size_t inputs, const std::vector<std::size_t>& hidden, Activation activation)
    : perceptron(register_module("perceptron", WideDeepTop(inputs, hidden, std::size_t{1}, activation))) {}

torch::Tensor DeepFmTopImpl::forward(const torch::Tensor& z, const torch::Tensor& embedded) {
  return perceptron(z.defined() ? factorization_scores(z) : z, embedded);
}

DeepFmImpl::DeepFmImpl(const protocol::Sessions& sessions, const PerPeer<FeatureShape>& numeric,
                       const PerPeer<CategoryShape>& categories, std::size_t factors,
                       const std::vector<std::size_t>& hidden, Activation activation,
                       const PerPeer<TwoSourceOptions>& options)
    : source(register_module("source", MatMul(sessions, with_pairs(sessions, numeric), factorization_width(factors),
                                              numeric_options(options)))),
      deep(register_module("deep", EmbedMatMul(sessions, with_fields(sessions, categories),
                                               first_of(hidden, "the deep part"), category_options(options)))),
      top(register_module("top", DeepFmTop(embedded_inputs(sessions, categories), hidden, activation))) {}

torch::Tensor DeepFmImpl::forward(const data::Batch& batch) {
  const torch::Tensor z = source(batch);
  return top(z, deep(batch));
}

}  // namespace blindfl::nn
