#include "blindfl/nn/source_output.h"

#include <torch/custom_class.h>

#include <algorithm>

#include "blindfl/base/error.h"
#include "blindfl/net/channel.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/protocol/session/session.h"

namespace blindfl::nn {

SourceOutput operator+(const SourceOutput& a, const SourceOutput& b) {
  require<InvalidArgument>(a.rows == b.rows && a.opening.scale == b.opening.scale && a.opening.top == b.opening.top &&
                               a.opening.derivative.scale == b.opening.derivative.scale &&
                               a.opening.derivative.largest == b.opening.derivative.largest &&
                               a.opening.derivative.clip == b.opening.derivative.clip,
                           "outputs that are opened together need the same rows, output scale, derivative and top");
  SourceOutput sum = a;
  for (const protocol::SessionShare& share : b.shares) {
    const auto same = std::ranges::find(sum.shares, share.session, &protocol::SessionShare::session);
    if (same == sum.shares.end()) {
      sum.shares.push_back(share);
    } else {
      same->output = same->output + share.output;
      same->about.insert(same->about.end(), share.about.begin(), share.about.end());
    }
  }
  sum.parts.insert(sum.parts.end(), b.parts.begin(), b.parts.end());
  return sum;
}

namespace {

/// What travels from the forward to the backward pass inside the autograd graph.
struct SavedOutput : torch::CustomClassHolder {
  explicit SavedOutput(const SourceOutput& output) : opening(output.opening), rows(output.rows), parts(output.parts) {
    for (const protocol::SessionShare& share : output.shares) {
      sessions.push_back(share.session);
      party = share.session->party();
      padded = share.output.share.rows();
    }
  }
  std::vector<protocol::Session*> sessions;
  protocol::Party party = protocol::Party::kA;
  SourceOutput::Opening opening;
  std::size_t rows;
  std::size_t padded = 0;
  std::vector<SourceOutput::Backward> parts;
};

torch::Tensor open_tensor(const SourceOutput& output) {
  const std::vector<protocol::SessionShare> rounded = protocol::round_outputs(output.shares, output.opening.scale);
  const std::size_t cols = rounded.front().output.share.cols();
  const auto z = protocol::open_output(rounded);
  if (!z) return torch::zeros({0, static_cast<std::int64_t>(cols)});
  return to_tensor(std::span(*z).first(output.rows * cols), output.rows, cols);
}

// The loss is a mean over the real rows; the protocol's derivative is that of the sum.
protocol::Derivative derivative_of(const SavedOutput& saved, const torch::Tensor& grad) {
  if (saved.party == protocol::Party::kA) {
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
      for (protocol::Session* session : saved.sessions) session->channel().close();  // peers are in the same step
      throw;
    }
    return {torch::Tensor(), torch::Tensor()};
  }
};

}  // namespace

torch::Tensor open(const SourceOutput& output) {
  require<InvalidArgument>(output.opening.top == protocol::Top::kOpen,
                           "these outputs are for a shared top: they stay shared, and are not opened");
  if (!torch::GradMode::is_enabled()) return open_tensor(output);
  const torch::Tensor anchor = torch::zeros({1}, torch::requires_grad());
  return OpenFunction::apply(anchor, output);
}

}  // namespace blindfl::nn
