#include "blindfl/nn/models.h"

#include <cmath>
#include <span>

#include "blindfl/base/error.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/nn/labels.h"
#include "blindfl/nn/model_parts.h"

namespace blindfl::nn {

namespace {

constexpr const char* kMlp = "a multi-layer perceptron";

void check_labels(Family family, const torch::Tensor& labels) {
  const torch::Tensor floats = labels.to(torch::kFloat32).contiguous();
  nn::check_labels(family, std::span<const float>(floats.data_ptr<float>(), static_cast<std::size_t>(floats.numel())));
}

enum class Reduction { kMean, kNone };

torch::Tensor reduced_loss(Family family, const torch::Tensor& scores, const torch::Tensor& labels,
                           Reduction reduction) {
  namespace F = torch::nn::functional;
  const auto reduced = [&](auto options) {
    if (reduction == Reduction::kNone) options.reduction(torch::kNone);
    return options;
  };
  switch (family) {
    case Family::kLogistic:
      return F::binary_cross_entropy_with_logits(scores.view({-1}), labels,
                                                 reduced(F::BinaryCrossEntropyWithLogitsFuncOptions()));
    case Family::kMultinomial:
      return F::cross_entropy(scores, labels.to(torch::kLong), reduced(F::CrossEntropyFuncOptions()));
    case Family::kLinear:
      return 0.5 * F::mse_loss(scores.view({-1}), labels, reduced(F::MSELossFuncOptions()));
    case Family::kPoisson:
      return F::poisson_nll_loss(scores.view({-1}), labels, reduced(F::PoissonNLLLossFuncOptions().log_input(true)));
  }
  fail<InvalidArgument>("loss: there is no such family");
}

}  // namespace

torch::Tensor loss(Family family, const torch::Tensor& scores, const torch::Tensor& labels) {
  check_labels(family, labels);
  return reduced_loss(family, scores, labels, Reduction::kMean);
}

torch::Tensor weighted_loss(Family family, const torch::Tensor& scores, const torch::Tensor& labels,
                            const torch::Tensor& weights) {
  require<InvalidArgument>(weights.sizes() == labels.sizes(), "a loss needs one weight for each label");
  check_labels(family, labels);
  return (reduced_loss(family, scores, labels, Reduction::kNone) * weights).mean();
}

torch::Tensor predictions(Family family, const torch::Tensor& scores) {
  switch (family) {
    case Family::kLogistic:
      return torch::sigmoid(scores);
    case Family::kMultinomial:
      return torch::softmax(scores, 1);
    case Family::kLinear:
      return scores;
    case Family::kPoisson:
      return torch::exp(scores);
  }
  fail<InvalidArgument>("predictions: there is no such family");
}

torch::Tensor initial_bias(std::size_t inputs, std::size_t width) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(inputs));
  return torch::empty({torch_size(width)}).uniform_(-bound, bound);
}

GeneralizedLinearImpl::GeneralizedLinearImpl(const protocol::Sessions& sessions, const PerPeer<FeatureShape>& shapes,
                                             std::size_t outputs, const PerPeer<MatMulOptions>& options)
    : source(register_module("source", MatMul(sessions, shapes, outputs, options))),
      bias(register_parameter("bias", torch::zeros({torch_size(outputs)}))) {}

torch::nn::Sequential make_top(const std::vector<std::size_t>& hidden, std::size_t outputs, Activation activation) {
  torch::nn::Sequential top;
  for (std::size_t i = 0; i < hidden.size(); ++i) {
    const std::size_t next = i + 1 < hidden.size() ? hidden[i + 1] : outputs;
    if (activation == Activation::kRelu) {
      top->push_back(torch::nn::ReLU());
    } else {
      top->push_back(torch::nn::Tanh());
    }
    top->push_back(torch::nn::Linear(torch_size(hidden[i]), torch_size(next)));
  }
  return top;
}

MlpImpl::MlpImpl(const protocol::Sessions& sessions, const PerPeer<FeatureShape>& shapes,
                 const std::vector<std::size_t>& hidden, std::size_t outputs, Activation activation,
                 const PerPeer<MatMulOptions>& options)
    : source(register_module("source", MatMul(sessions, shapes, first_of(hidden, kMlp), options))),
      bias(register_parameter("bias", initial_bias(all_features(sessions, shapes), first_of(hidden, kMlp)))),
      top(register_module("top", make_top(hidden, outputs, activation))) {}

torch::Tensor MlpImpl::forward(const data::Batch& batch) {
  return top->forward(source(batch) + bias);
}

}  // namespace blindfl::nn
