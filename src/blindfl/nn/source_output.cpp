#include "blindfl/nn/source_output.h"

#include <torch/custom_class.h>

#include "blindfl/base/error.h"
#include "blindfl/nn/bridge.h"

namespace blindfl::nn {

SourceOutput operator+(const SourceOutput& a, const SourceOutput& b) {
  require<InvalidArgument>(a.opening.session == b.opening.session, "outputs of two sessions cannot be added");
  require<InvalidArgument>(a.rows == b.rows && a.opening.scale == b.opening.scale &&
                               a.opening.derivative.scale == b.opening.derivative.scale &&
                               a.opening.derivative.largest == b.opening.derivative.largest &&
                               a.opening.derivative.clip == b.opening.derivative.clip,
                           "outputs that are opened together need the same rows, output scale and derivative");
  SourceOutput sum{a.share + b.share, a.rows, a.opening, a.parts};
  sum.parts.insert(sum.parts.end(), b.parts.begin(), b.parts.end());
  return sum;
}

namespace {

/// What travels from the forward to the backward pass inside the autograd graph.
struct SavedOutput : torch::CustomClassHolder {
  explicit SavedOutput(const SourceOutput& output)
      : opening(output.opening), rows(output.rows), padded(output.share.share.rows()), parts(output.parts) {}
  SourceOutput::Opening opening;
  std::size_t rows;
  std::size_t padded;
  std::vector<SourceOutput::Backward> parts;
};

torch::Tensor open_tensor(const SourceOutput& output) {
  const protocol::OutputShare rounded = protocol::round_output(output.share, output.opening.scale);
  const std::size_t cols = rounded.share.cols();
  const auto z = protocol::open_output(*output.opening.session, output.opening.layer, rounded);
  if (!z) return torch::zeros({0, static_cast<std::int64_t>(cols)});
  return to_tensor(std::span(*z).first(output.rows * cols), output.rows, cols);
}

// The loss is a mean over the real rows; the protocol's derivative is that of the sum.
protocol::Derivative derivative_of(const SavedOutput& saved, const torch::Tensor& grad) {
  if (saved.opening.session->party() == protocol::Party::kA) {
    return protocol::absent_derivative(saved.padded, saved.rows);
  }
  const auto cols = static_cast<std::size_t>(grad.size(1));
  const auto rows = static_cast<double>(saved.rows);
  try {
    return protocol::encode_derivative(FixedPoint(saved.opening.derivative), saved.padded, cols,
                                       to_vector(grad.to(torch::kFloat64) * rows));
  } catch (const DataError& error) {
    fail<DataError>("derivative of the summed loss, ", error.what());
  }
}

void run_backward(const SavedOutput& saved, const torch::Tensor& grad) {
  require<InvalidArgument>(!torch::GradMode::is_enabled(),
                           "a federated layer has no second derivative: backward() with create_graph is not possible");
  const protocol::Derivative derivative = derivative_of(saved, grad);
  for (const SourceOutput::Backward& backward : saved.parts) backward(derivative);
}

// `anchor` is a leaf that requires a gradient: without one, torch would not call backward.
struct OpenFunction : torch::autograd::Function<OpenFunction> {
  static torch::Tensor forward(torch::autograd::AutogradContext* ctx, const torch::Tensor& /*anchor*/,
                               const SourceOutput& output) {
    ctx->saved_data["output"] = c10::IValue::make_capsule(c10::make_intrusive<SavedOutput>(output));
    return open_tensor(output);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& grads) {
    const auto capsule = ctx->saved_data["output"].toCapsule();
    const auto& saved = dynamic_cast<const SavedOutput&>(*capsule);
    try {
      run_backward(saved, grads.at(0));
    } catch (...) {
      saved.opening.session->channel().close();  // the peer is in the middle of the same step
      throw;
    }
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
