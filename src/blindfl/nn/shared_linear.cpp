#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/mpc/top_parts.h"
#include "blindfl/nn/shared_modules.h"
#include "blindfl/nn/shared_weight.h"
#include "blindfl/nn/wide_derivative.h"

// Z = X W + b on shares (mpc/shared_product.h):
//
//   forward    X W, with X on the left: what it was lifted to stays for the way back
//   backward   dW = X^T d and dX = d W^T at the same time, with d lifted once for both; db = sum of d, local; then dW
//              and db are lifted for the optimizer

namespace blindfl::nn {

struct SharedLinearImpl::Parts {
  Parts(protocol::Session& s, std::size_t in, std::size_t out, const SharedTopOptions& o)
      : Parts(s, mpc::linear_products(in, out, o), o) {
    SeededRandom random = session.weight_random(layer);
    const double deviation = 1 / std::sqrt(3 * static_cast<double>(in));
    const int scale = gradient.params().spec().result_scale;
    weight = draw_shared_weight(
        {.name = "linear.weight",
         .rows = in,
         .cols = out,
         .deviation = deviation,
         .gradient_scale = scale,
         .gradient_bits = static_cast<int>(std::ceil(std::log2(mpc::largest_weight_gradient(o)))) + scale},
        o, random);
    bias = draw_shared_bias("linear.bias", out, deviation, o, random);
  }

  Parts(protocol::Session& s, const mpc::LinearProducts& products, const SharedTopOptions& o)
      : session(s),
        layer(s.new_layer()),
        options(o),
        gradient_ring(products.gradient_ring),
        bias_ring(products.bias_ring),
        output(s, products.output),
        gradient(s, products.gradient),
        derivative(s, products.derivative) {}

  struct Gradients {
    ShareMatrix weight;
    ShareMatrix bias;
    ShareMatrix input;
  };
  /// The weight as products take it: both of a step take the same.
  [[nodiscard]] const ShareMatrix& factor();
  /// `x` is lifted.
  [[nodiscard]] Gradients backward(mpc::SharedLeft& x, std::size_t rows, const SharedDerivative& d);

  protocol::Session& session;
  std::uint32_t layer;
  SharedTopOptions options;
  int gradient_ring;
  int bias_ring;
  mpc::SharedProduct output;
  mpc::SharedProduct gradient;
  mpc::SharedProduct derivative;
  std::shared_ptr<protocol::Weight> weight;
  std::shared_ptr<protocol::Weight> bias;
  std::optional<SharedWeightState> state;
  ShareMatrix rounded;
  std::optional<std::uint64_t> rounded_version;  ///< of the weight
};

const ShareMatrix& SharedLinearImpl::Parts::factor() {
  if (rounded_version != weight->version) {
    rounded = rescale(weight->piece, mpc::kFactorScale);
    rounded_version = weight->version;
  }
  return rounded;
}

SharedLinearImpl::Parts::Gradients SharedLinearImpl::Parts::backward(mpc::SharedLeft& x, std::size_t rows,
                                                                     const SharedDerivative& d) {
  const Stopwatch::Lap lap(session.protocol_time());
  const ShareMatrix narrow = narrow_derivative(d);
  const int ring = std::max(gradient.params().ring_bits(), derivative.params().ring_bits());
  const ShareMatrix right = protocol::lift_with_room(session, layer, narrow, ring);
  mpc::SharedLeft left = mpc::SharedLeft::of_lifted(right);
  const std::array<mpc::SharedProduct::Task, 2> tasks{
      {{&gradient, &x, &right}, {&derivative, &left, &factor(), weight->version}}};
  std::vector<ShareMatrix> made = mpc::SharedProduct::products(tasks);
  // In the wider ring: a sum over a large batch may be longer than a value.
  const ShareMatrix sums = summed_rows(right);
  const std::array<protocol::LiftedShare, 2> lifts{{{made[0], gradient_ring}, {sums, bias_ring}}};
  const std::vector<ShareMatrix> wide = protocol::lift_with_room(session, layer, lifts);
  return {.weight = as_of_full_batch(lifted(wide[0]), right.rows(), rows, *weight),
          .bias = as_of_full_batch(lifted(wide[1]), right.rows(), rows, *bias),
          .input = std::move(made[1])};
}

SharedLinearImpl::SharedLinearImpl(protocol::Session& session, std::size_t in, std::size_t out,
                                   const SharedTopOptions& options)
    : SharedLinearImpl(session, std::make_shared<Parts>(session, in, out, options)) {}

SharedLinearImpl::SharedLinearImpl(protocol::Session& session, std::shared_ptr<Parts> parts)
    : parts_(std::move(parts)),
      weight_(register_federated(FederatedParameter(session, parts_->weight))),
      bias_(register_federated(FederatedParameter(session, parts_->bias))) {
  parts_->state.emplace(session, "a linear layer of the shared top", std::vector{parts_->weight, parts_->bias});
}

SharedLinearImpl::~SharedLinearImpl() = default;

SharedTensor SharedLinearImpl::forward(const SharedTensor& x) {
  const Stopwatch::Lap lap(parts_->session.protocol_time());
  auto left = std::make_shared<mpc::SharedLeft>(x.share, parts_->gradient.params().ring_bits());
  ShareMatrix z = parts_->output.product(*left, parts_->factor(), parts_->weight->version);
  add_bias(z, *parts_->bias);
  SharedTensor made{.session = x.session, .share = std::move(z), .rows = x.rows};
  if (!torch::GradMode::is_enabled()) return made;
  made.backward = [parts = parts_, left, weight = weight_, bias = bias_, rows = x.rows,
                   below = x.backward](const SharedDerivative& d) mutable {
    Parts::Gradients gradients = parts->backward(*left, rows, d);
    weight.accumulate_grad(gradients.weight);
    bias.accumulate_grad(gradients.bias);
    if (below) below({.share = std::move(gradients.input)});
  };
  return made;
}

std::optional<protocol::Settings> SharedLinearImpl::state_settings() const {
  return parts_->state->settings();
}
void SharedLinearImpl::save_layer(ByteSink& out) const {
  parts_->state->save(out);
}
void SharedLinearImpl::load_layer(ByteSource& in) {
  parts_->state->load(in);
  parts_->output.forget();
  parts_->derivative.forget();
  parts_->rounded_version.reset();
}

void SharedLinearImpl::pretty_print(std::ostream& stream) const {
  stream << "blindfl::SharedLinear(in=" << parts_->weight->piece.rows() << ", out=" << parts_->weight->piece.cols()
         << ")";
}

struct SharedBiasImpl::Parts {
  protocol::Session& session;
  std::uint32_t layer;
  std::shared_ptr<protocol::Weight> bias;
  SharedWeightState state;
  int ring;  ///< that gradients are narrowed to, before each party reads its share as a number
};

SharedBiasImpl::SharedBiasImpl(protocol::Session& session, std::size_t width, double deviation,
                               const SharedTopOptions& options)
    : SharedBiasImpl(session, [&] {
        const std::uint32_t layer = session.new_layer();
        SeededRandom random = session.weight_random(layer);
        auto bias = draw_shared_bias("bias", width, deviation, options, random);
        return std::make_shared<Parts>(Parts{session, layer, bias,
                                             SharedWeightState(session, "the bias of a shared top", std::vector{bias}),
                                             mpc::bias_ring(width, options)});
      }()) {}

SharedBiasImpl::SharedBiasImpl(protocol::Session& session, std::shared_ptr<Parts> parts)
    : parts_(std::move(parts)), bias_(register_federated(FederatedParameter(session, parts_->bias))) {}

SharedBiasImpl::~SharedBiasImpl() = default;

SharedTensor SharedBiasImpl::forward(const SharedTensor& x) {
  SharedTensor made = x;
  add_bias(made.share, *parts_->bias);
  made.backward = [parts = parts_, bias = bias_, rows = x.rows, below = x.backward](const SharedDerivative& d) mutable {
    // Layers below take what was lifted here. Summed in that ring: a sum over a large batch may be longer than a value.
    const SharedDerivative wide = wide_derivative(parts->session, parts->layer, d);
    ShareMatrix sums = summed_rows(wide.share);
    if (d.share.ring_bits() < ShareMatrix::kMostRingBits) sums = lifted(narrowed(sums, parts->ring));
    bias.accumulate_grad(as_of_full_batch(sums, d.share.rows(), rows, *parts->bias));
    if (below) below(wide);
  };
  return made;
}

std::optional<protocol::Settings> SharedBiasImpl::state_settings() const {
  return parts_->state.settings();
}
void SharedBiasImpl::save_layer(ByteSink& out) const {
  parts_->state.save(out);
}
void SharedBiasImpl::load_layer(ByteSource& in) {
  parts_->state.load(in);
}

}  // namespace blindfl::nn
