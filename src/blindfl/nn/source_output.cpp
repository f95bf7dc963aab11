#include "blindfl/nn/source_output.h"

#include <torch/custom_class.h>

#include "blindfl/base/error.h"
#include "blindfl/nn/bridge.h"

namespace blindfl::nn {

SourceOutput operator+(const SourceOutput& a, const SourceOutput& b) {
  require<InvalidArgument>(a.opening.session == b.opening.session, "outputs of two sessions cannot be added");
  require<InvalidArgument>(a.rows == b.rows && a.opening.batch == b.opening.batch &&
                               a.opening.scale == b.opening.scale &&
                               a.opening.derivative.scale == b.opening.derivative.scale &&
                               a.opening.derivative.largest == b.opening.derivative.largest &&
                               a.opening.derivative.clip == b.opening.derivative.clip,
                           "outputs that are opened together need the same rows, batch, output scale and derivative");
  SourceOutput sum{a.share + b.share, a.rows, a.opening, a.parts};
  sum.parts.insert(sum.parts.end(), b.parts.begin(), b.parts.end());
  return sum;
}

namespace {

/// What travels from the forward to the backward pass inside the autograd graph.
struct SavedOutput : torch::CustomClassHolder {
  SavedOutput(const SourceOutput::Opening& o, std::size_t padded_rows, std::vector<SourceOutput::Part> p)
      : opening(o), padded(padded_rows), parts(std::move(p)) {}
  SourceOutput::Opening opening;
  std::size_t padded;
  std::vector<SourceOutput::Part> parts;
};

torch::Tensor open_tensor(const SourceOutput& output) {
  const ShareMatrix rounded = protocol::round_output(output.share, output.opening.scale);
  const auto z = protocol::open_output(*output.opening.session, output.opening.layer, rounded);
  if (!z) return torch::zeros({0, static_cast<std::int64_t>(rounded.cols())});
  return to_tensor(std::span(*z).first(output.rows * rounded.cols()), output.rows, rounded.cols());
}

protocol::Derivative derivative_of(const SavedOutput& saved, const torch::Tensor& grad) {
  if (saved.opening.session->party() == protocol::Party::kA) return protocol::absent_derivative(saved.padded);
  const auto cols = static_cast<std::size_t>(grad.size(1));
  const auto batch = static_cast<double>(saved.opening.batch);
  try {
    return protocol::encode_derivative(FixedPoint(saved.opening.derivative), saved.padded, cols,
                                       to_vector(grad.to(torch::kFloat64) * batch));
  } catch (const DataError& error) {
    fail<DataError>("derivative of the loss (times the batch size), ", error.what());
  }
}

// `anchor` is a leaf that requires a gradient: without one, torch would not call backward.
struct OpenFunction : torch::autograd::Function<OpenFunction> {
  static torch::Tensor forward(torch::autograd::AutogradContext* ctx, const torch::Tensor& /*anchor*/,
                               const SourceOutput& output) {
    ctx->saved_data["output"] = c10::IValue::make_capsule(
        c10::make_intrusive<SavedOutput>(output.opening, output.share.share.rows(), output.parts));
    return open_tensor(output);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& grads) {
    const auto capsule = ctx->saved_data["output"].toCapsule();
    const auto& saved = dynamic_cast<const SavedOutput&>(*capsule);
    const protocol::Derivative derivative = derivative_of(saved, grads.at(0));
    for (const SourceOutput::Part& part : saved.parts) part.layer->backward(part.features, derivative);
    return {torch::Tensor(), torch::Tensor()};
  }
};

}  // namespace

torch::Tensor open(const SourceOutput& output) {
  if (!torch::GradMode::is_enabled()) return open_tensor(output);
  const torch::Tensor anchor = torch::zeros({1}, torch::requires_grad());
  return OpenFunction::apply(anchor, output);
}

}  // namespace blindfl::nn
