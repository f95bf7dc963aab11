#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/mpc/shared_product.h"
#include "blindfl/nn/shared_modules.h"
#include "blindfl/nn/shared_weight.h"
#include "blindfl/nn/wide_derivative.h"
#include "blindfl/protocol/layers/lifted_gradient.h"

// Z = X W + b on shares (mpc/shared_product.h):
//
//   forward    X W, with X as integers on the left: its pieces stay for the way back
//   backward   dW = X^T d and dX = d W^T at the same time, with d as integers; db = sum of d, local

namespace blindfl::nn {

namespace {

/// Weights in products, and values that come out of them: fractional bits, and those that are not noise.
constexpr int kFactorScale = 24;
constexpr int kValuePrecision = 18;
/// Between layers values are needed modulo this: what comparisons, functions and pieces take.
constexpr int kValueRing = 64;
/// Gradients of weights: what an optimizer keeps, at most.
constexpr int kGradientScale = 28;

/// Assumed of what comes out of a product.
double largest_output(const SharedTopOptions& options) {
  return 64 * options.largest_value;
}
double largest_gradient(const SharedTopOptions& options) {
  return static_cast<double>(options.batch) * kLargestSharedDerivative * 4;
}

mpc::SharedProductSpec common_spec(const SharedTopOptions& options) {
  const std::uint64_t passes = protocol::counted_passes(options.run, options.sgd);
  return {.batch = options.batch,
          .left_scale = kSharedScale,
          .run_products = passes * options.run.layers,
          .sharing = 3,  // products of a layer
          .scheme = options.scheme};
}

mpc::SharedProductSpec output_spec(std::size_t in, std::size_t out, const SharedTopOptions& options) {
  mpc::SharedProductSpec spec = common_spec(options);
  spec.form = mpc::ProductForm::kPlain;
  spec.left_cols = in;
  spec.other = out;
  spec.right_scale = kFactorScale;
  spec.largest_left = options.largest_value;
  spec.largest = largest_output(options);
  spec.precision = kValuePrecision;
  spec.result_scale = kSharedScale;
  spec.result_ring = kValueRing;
  return spec;
}

mpc::SharedProductSpec gradient_spec(std::size_t in, std::size_t out, const SharedTopOptions& options) {
  mpc::SharedProductSpec spec = common_spec(options);
  spec.form = mpc::ProductForm::kLeftTransposed;
  spec.left_cols = in;
  spec.other = out;
  spec.right_scale = kSharedScale;
  spec.largest_left = options.largest_value;
  spec.largest = largest_gradient(options);
  spec.precision = protocol::gradient_precision(options.batch);
  spec.result_scale = 2 * kSharedScale;
  const mpc::SharedProductParams unscaled(spec);
  // Shares must not outgrow 2^127 where an optimizer adds them up.
  const protocol::LiftedGradient lifted{.scale = unscaled.product_scale(), .ring_bits = unscaled.ring_bits()};
  spec.result_scale = lifted.kept_scale(kGradientScale);
  return spec;
}

mpc::SharedProductSpec derivative_spec(std::size_t in, std::size_t out, const SharedTopOptions& options) {
  mpc::SharedProductSpec spec = common_spec(options);
  spec.form = mpc::ProductForm::kRightTransposed;
  spec.left_cols = out;
  spec.other = in;
  spec.right_scale = kFactorScale;
  spec.largest_left = kLargestSharedDerivative;
  spec.largest = 64 * kLargestSharedDerivative;
  spec.precision = kValuePrecision;
  spec.result_scale = kSharedScale;
  spec.result_ring = kValueRing;
  return spec;
}

}  // namespace

struct SharedLinearImpl::Parts {
  Parts(protocol::Session& s, std::size_t in, std::size_t out, const SharedTopOptions& o)
      : session(s),
        layer(s.new_layer()),
        options(o),
        output(s, output_spec(in, out, o)),
        gradient(s, gradient_spec(in, out, o)),
        derivative(s, derivative_spec(in, out, o)) {
    // Of values, and of derivatives by outputs and by inputs: the latter are made below, of what comes from here.
    const double passes = static_cast<double>(protocol::counted_passes(o.run, o.sgd) * o.run.layers);
    mpc::check_pieces("a linear layer", std::max(o.largest_value, kLargestSharedDerivative), kSharedScale,
                      static_cast<double>(o.batch * (2 * in + out)) * passes);
    SeededRandom random = session.weight_random(layer);
    const double deviation = 1 / std::sqrt(3 * static_cast<double>(in));
    const int scale = gradient.params().spec().result_scale;
    weight = draw_shared_weight({.name = "linear.weight",
                                 .rows = in,
                                 .cols = out,
                                 .deviation = deviation,
                                 .gradient_scale = scale,
                                 .gradient_bits = static_cast<int>(std::ceil(std::log2(largest_gradient(o)))) + scale},
                                o, random);
    bias = draw_shared_bias("linear.bias", out, deviation, o, random);
  }

  struct Gradients {
    ShareMatrix weight;
    ShareMatrix bias;
    ShareMatrix input;
  };
  /// `x` has its pieces.
  [[nodiscard]] Gradients backward(mpc::SharedLeft& x, std::size_t rows, const SharedDerivative& d);

  protocol::Session& session;
  std::uint32_t layer;
  SharedTopOptions options;
  mpc::SharedProduct output;
  mpc::SharedProduct gradient;
  mpc::SharedProduct derivative;
  std::shared_ptr<protocol::Weight> weight;
  std::shared_ptr<protocol::Weight> bias;
  std::optional<SharedWeightState> state;
};

SharedLinearImpl::Parts::Gradients SharedLinearImpl::Parts::backward(mpc::SharedLeft& x, std::size_t rows,
                                                                     const SharedDerivative& d) {
  const Stopwatch::Lap lap(session.protocol_time());
  const SharedDerivative wide = wide_derivative(session, layer, d);
  const ShareMatrix right = rescale(wide.share, kSharedScale);
  mpc::SharedLeft left = wide.integers ? mpc::SharedLeft::of_pieces(right) : mpc::SharedLeft(right);
  const ShareMatrix factor = rescale(weight->piece, kFactorScale);
  const std::array<mpc::SharedProduct::Task, 2> tasks{
      {{&gradient, &x, &right}, {&derivative, &left, &factor, weight->version}}};
  std::vector<ShareMatrix> made = mpc::SharedProduct::products(tasks);
  return {.weight = as_of_full_batch(made[0], right.rows(), rows, *weight),
          .bias = as_of_full_batch(summed_rows(right), right.rows(), rows, *bias),
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
  auto left = std::make_shared<mpc::SharedLeft>(x.share);
  const ShareMatrix factor = rescale(parts_->weight->piece, kFactorScale);
  ShareMatrix z = parts_->output.product(*left, factor, parts_->weight->version);
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
};

SharedBiasImpl::SharedBiasImpl(protocol::Session& session, std::size_t width, double deviation,
                               const SharedTopOptions& options)
    : SharedBiasImpl(session, [&] {
        const std::uint32_t layer = session.new_layer();
        SeededRandom random = session.weight_random(layer);
        auto bias = draw_shared_bias("bias", width, deviation, options, random);
        return std::make_shared<Parts>(
            Parts{session, layer, bias, SharedWeightState(session, "the bias of a shared top", std::vector{bias})});
      }()) {}

SharedBiasImpl::SharedBiasImpl(protocol::Session& session, std::shared_ptr<Parts> parts)
    : parts_(std::move(parts)), bias_(register_federated(FederatedParameter(session, parts_->bias))) {}

SharedBiasImpl::~SharedBiasImpl() = default;

SharedTensor SharedBiasImpl::forward(const SharedTensor& x) {
  SharedTensor made = x;
  add_bias(made.share, *parts_->bias);
  made.backward = [parts = parts_, bias = bias_, rows = x.rows,
                   below = x.backward](const SharedDerivative& narrow) mutable {
    const SharedDerivative d = wide_derivative(parts->session, parts->layer, narrow);
    bias.accumulate_grad(as_of_full_batch(summed_rows(d.share), d.share.rows(), rows, *parts->bias));
    if (below) below(d);
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
