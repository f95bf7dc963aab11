#include <utility>

#include "blindfl/mpc/shared_elements.h"
#include "blindfl/mpc/top_parts.h"
#include "blindfl/nn/shared_modules.h"
#include "blindfl/nn/watched_function.h"
#include "blindfl/nn/wide_derivative.h"

namespace blindfl::nn {

struct SharedActivationImpl::Parts {
  Parts(protocol::Session& s, const mpc::ActivationParts& parts, const SharedTopOptions& o)
      : session(s),
        layer(s.new_layer()),
        function(s, parts.function, o),
        elements(s, parts.slopes, protocol::Party::kB, o.scheme) {}

  protocol::Session& session;
  std::uint32_t layer;
  WatchedFunction function;
  mpc::SharedElements elements;
};

SharedActivationImpl::SharedActivationImpl(protocol::Session& session, SmoothActivation function, std::size_t width,
                                           const SharedTopOptions& options)
    : parts_(std::make_shared<Parts>(session, mpc::activation_parts(function, width, options), options)) {}

SharedActivationImpl::~SharedActivationImpl() = default;

SharedTensor SharedActivationImpl::forward(const SharedTensor& x) {
  const Stopwatch::Lap lap(parts_->session.protocol_time());
  std::vector<ShareMatrix> values = parts_->function.evaluate(x.share);
  SharedTensor made{.session = x.session, .share = rescale(values[0], kSharedScale), .rows = x.rows};
  if (!torch::GradMode::is_enabled()) return made;
  made.backward = [parts = parts_, slope = rescale(values[1], kSharedScale),
                   below = x.backward](const SharedDerivative& d) {
    const ShareMatrix factor = derivative_in(parts->session, parts->layer, d, mpc::kSlopeRing);
    const ShareMatrix product = parts->elements.product(factor, slope);
    // Rounding in a ring never fails.
    if (below) below({.share = narrowed(rescale(product, kSharedScale), mpc::kValueRing)});
  };
  return made;
}

void SharedActivationImpl::check_ranges() {
  parts_->function.check_range();
}

}  // namespace blindfl::nn
