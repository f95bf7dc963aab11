#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/mpc/exact_lift.h"
#include "blindfl/mpc/shared_elements.h"
#include "blindfl/nn/shared_modules.h"
#include "blindfl/nn/watched_function.h"

namespace blindfl::nn {

namespace {

using mpc::Smooth;

constexpr int kElementRing = 64;
constexpr double kActivationError = 3e-5;

struct Functions {
  const char* name;
  Smooth function;
  Smooth slope;
};

Functions functions_of(SmoothActivation activation) {
  switch (activation) {
    case SmoothActivation::kTanh:
      return {"tanh", Smooth::kTanh, Smooth::kTanhSlope};
    case SmoothActivation::kSigmoid:
      return {"sigmoid", Smooth::kSigmoid, Smooth::kSigmoidSlope};
    case SmoothActivation::kGelu:
      return {"GELU", Smooth::kGelu, Smooth::kGeluSlope};
    case SmoothActivation::kSilu:
      return {"SiLU", Smooth::kSilu, Smooth::kSiluSlope};
  }
  fail<InvalidArgument>("there is no such activation");
}

}  // namespace

struct SharedActivationImpl::Parts {
  Parts(protocol::Session& s, SmoothActivation activation, std::size_t width, const SharedTopOptions& o)
      : session(s),
        layer(s.new_layer()),
        function(s,
                 {.what = std::string("a hidden layer before ") + functions_of(activation).name,
                  .functions = {functions_of(activation).function, functions_of(activation).slope},
                  .low = -o.hidden_range,
                  .high = o.hidden_range,
                  .error = kActivationError,
                  .cols = width},
                 o),
        elements(s,
                 {.rows = o.batch,
                  .cols = width,
                  .ring_bits = kElementRing,
                  .run_values = o.batch * width * protocol::counted_passes(o.run, o.sgd) * o.run.layers},
                 protocol::Party::kB, o.scheme) {}

  protocol::Session& session;
  std::uint32_t layer;
  WatchedFunction function;
  mpc::SharedElements elements;
};

SharedActivationImpl::SharedActivationImpl(protocol::Session& session, SmoothActivation function, std::size_t width,
                                           const SharedTopOptions& options)
    : parts_(std::make_shared<Parts>(session, function, width, options)) {}

SharedActivationImpl::~SharedActivationImpl() = default;

SharedTensor SharedActivationImpl::forward(const SharedTensor& x) {
  const Stopwatch::Lap lap(parts_->session.protocol_time());
  std::vector<ShareMatrix> values = parts_->function.evaluate(x.share);
  SharedTensor made{.session = x.session, .share = rescale(values[0], kSharedScale), .rows = x.rows};
  if (!torch::GradMode::is_enabled()) return made;
  made.backward = [parts = parts_, slope = rescale(values[1], kSharedScale),
                   below = x.backward](const SharedDerivative& d) {
    const ShareMatrix product = parts->elements.product(rescale(d.share, kSharedScale), slope);
    // Rounded in its ring it never fails, and what is left of that is too narrow for pieces.
    const ShareMatrix rounded = rescale(product, kSharedScale);
    if (below) below({.share = mpc::lift_by_comparison(parts->session, parts->layer, rounded), .integers = false});
  };
  return made;
}

void SharedActivationImpl::check_ranges() {
  parts_->function.check_range();
}

}  // namespace blindfl::nn
