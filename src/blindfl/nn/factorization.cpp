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

FactorizationMachineImpl::FactorizationMachineImpl(protocol::Session& session, const FeatureShape& shape,
                                                   std::size_t factors, const MatMulOptions& options)
    : source(register_module("source", MatMul(session, shape, factorization_width(factors), options))),
      top(register_module("top", FactorizationTop())) {}

DeepFmTopImpl::DeepFmTopImpl(std::size_t inputs, const std::vector<std::size_t>& hidden, Activation activation)
    : perceptron(register_module("perceptron", WideDeepTop(inputs, hidden, std::size_t{1}, activation))) {}

torch::Tensor DeepFmTopImpl::forward(const torch::Tensor& z, const torch::Tensor& embedded) {
  return perceptron(z.defined() ? factorization_scores(z) : z, embedded);
}

DeepFmImpl::DeepFmImpl(protocol::Session& session, const FeatureShape& numeric, const CategoryShape& categories,
                       std::size_t factors, const std::vector<std::size_t>& hidden, Activation activation,
                       const TwoSourceOptions& options)
    : source(register_module("source",
                             MatMul(session, with_pairs(numeric), factorization_width(factors), options.numeric))),
      deep(register_module("deep", EmbedMatMul(session, with_fields(categories), first_of(hidden, "the deep part"),
                                               options.categories))),
      top(register_module("top", DeepFmTop(embedded_inputs(categories), hidden, activation))) {}

torch::Tensor DeepFmImpl::forward(const data::Batch& batch) {
  const torch::Tensor z = source(batch);
  return top(z, deep(batch));
}

}  // namespace blindfl::nn
