#include "blindfl/nn/shared_models.h"

#include <algorithm>
#include <utility>

#include "blindfl/mpc/openings.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/nn/model_parts.h"

namespace blindfl::nn {

namespace {

template <class Options>
Options with_room(Options options) {
  options.top = protocol::Top::kShared;
  options.output_room = std::max(options.output_room, protocol::kSharedOutputRoom);
  return options;
}

}  // namespace

torch::Tensor SharedModel::open_scores(const SharedTensor& scores, int score_bits) {
  check_ranges(*this);
  const std::size_t cols = scores.share.cols();
  // Padding stays closed.
  ShareMatrix real(scores.rows, cols, scores.share.scale(), scores.share.ring_bits());
  std::ranges::copy(scores.share.values().first(scores.rows * cols), real.values().begin());
  const auto opened = mpc::open_scores(*scores.session, opening_, real, score_bits);
  if (!opened) return torch::zeros({0, torch_size(cols)});
  return to_tensor(*opened, scores.rows, cols);
}

MatMulOptions for_shared_top(MatMulOptions options) {
  return with_room(std::move(options));
}
EmbedMatMulOptions for_shared_top(EmbedMatMulOptions options) {
  return with_room(std::move(options));
}

SharedGeneralizedLinearImpl::SharedGeneralizedLinearImpl(protocol::Session& session, const FeatureShape& shape,
                                                         std::size_t outputs, const MatMulOptions& options,
                                                         const SharedTopOptions& top_options)
    : SharedModel(session),
      source(register_module("source", MatMul(session, shape, outputs, for_shared_top(options)))),
      bias(register_module("bias", SharedBias(session, outputs, 0.0, top_options))) {}

SharedSequential make_shared_top(protocol::Session& session, const std::vector<std::size_t>& hidden,
                                 std::size_t outputs, Activation activation, const SharedTopOptions& options) {
  SharedSequential top;
  for (std::size_t i = 0; i < hidden.size(); ++i) {
    const std::size_t next = i + 1 < hidden.size() ? hidden[i + 1] : outputs;
    if (activation == Activation::kRelu) {
      top->push_back(SharedReLU(session, options).ptr());
    } else {
      top->push_back(SharedActivation(session, SmoothActivation::kTanh, hidden[i], options).ptr());
    }
    top->push_back(SharedLinear(session, hidden[i], next, options).ptr());
  }
  return top;
}

SharedMlpImpl::SharedMlpImpl(protocol::Session& session, const FeatureShape& shape,
                             const std::vector<std::size_t>& hidden, std::size_t outputs, Activation activation,
                             const MatMulOptions& options, const SharedTopOptions& top_options)
    : SharedModel(session),
      source(register_module(
          "source", MatMul(session, shape, first_of(hidden, "a multi-layer perceptron"), for_shared_top(options)))),
      bias(register_module("bias",
                           SharedBias(session, hidden.front(), bias_deviation(shape.in_a + shape.in_b), top_options))),
      top(register_module("top", make_shared_top(session, hidden, outputs, activation, top_options))) {}

SharedWideDeepImpl::SharedWideDeepImpl(protocol::Session& session, const FeatureShape& numeric,
                                       const CategoryShape& categories, const std::vector<std::size_t>& hidden,
                                       std::size_t outputs, Activation activation, const TwoSourceOptions& options,
                                       const SharedTopOptions& top_options)
    : SharedModel(session),
      wide(numeric_source(session, numeric, outputs, for_shared_top(options.numeric))),
      deep(register_module("deep", EmbedMatMul(session, with_fields(session, categories),
                                               first_of(hidden, "the deep part"), for_shared_top(options.categories)))),
      bias(register_module("bias", SharedBias(session, hidden.front(),
                                              bias_deviation(embedded_inputs(session, categories)), top_options))),
      top(register_module("top", make_shared_top(session, hidden, outputs, activation, top_options))) {
  if (wide) register_module("wide", wide);
}

SharedTensor SharedWideDeepImpl::scores(const data::Batch& batch) {
  const SharedTensor of_fields = shared_output(deep->shares(batch));
  if (!wide) return top(bias(of_fields));
  const SharedTensor of_numbers = shared_output(wide->shares(batch));
  return top(bias(of_fields)) + of_numbers;
}

}  // namespace blindfl::nn
