#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/mpc/shared_relu.h"
#include "blindfl/mpc/top_parts.h"
#include "blindfl/nn/shared_modules.h"
#include "blindfl/nn/watched_values.h"

namespace blindfl::nn {

namespace {

/// Beyond, comparisons are wrong.
constexpr double kLargestOfRelu = 0x1p8 - 1;
static_assert(mpc::kReluBits == 9 + kSharedScale);

}  // namespace

struct SharedReLUImpl::Parts {
  explicit Parts(protocol::Session& s)
      : session(s),
        relu(s, mpc::kReluBits, mpc::kValueRing, mpc::kDroppedReluBits),
        arguments(s, "a hidden layer before ReLU", -kLargestOfRelu, kLargestOfRelu) {}

  protocol::Session& session;
  mpc::SharedRelu relu;
  WatchedValues arguments;
  std::uint64_t passes = 0;  ///< that keep what the way back takes: only of the last there is something
};

SharedReLUImpl::SharedReLUImpl(protocol::Session& session, const SharedTopOptions& /*options*/)
    : parts_(std::make_shared<Parts>(session)) {}

SharedReLUImpl::~SharedReLUImpl() = default;

SharedTensor SharedReLUImpl::forward(const SharedTensor& x) {
  using Keep = mpc::SharedRelu::Keep;
  const Stopwatch::Lap lap(parts_->session.protocol_time());
  const bool training = torch::GradMode::is_enabled();
  const ShareMatrix argument = narrowed(x.share, mpc::kValueRing);
  parts_->arguments.see(argument);
  SharedTensor made{.session = x.session,
                    .share = parts_->relu.forward(argument, training ? Keep::kForBackward : Keep::kNothing),
                    .rows = x.rows};
  if (!training) return made;
  made.backward = [parts = parts_, pass = ++parts_->passes, below = x.backward](const SharedDerivative& d) {
    // Otherwise the bits of another batch would select, without a word.
    require<InvalidArgument>(pass == parts->passes,
                             "ReLU: the backward pass of a batch comes before the forward pass of the next");
    const ShareMatrix share = rescale(d.share, kSharedScale);
    ShareMatrix selected = parts->relu.backward(narrowed(share, mpc::kValueRing));
    if (below) below({.share = std::move(selected)});
  };
  return made;
}

void SharedReLUImpl::check_ranges() {
  parts_->arguments.check();
}

void SharedSequentialImpl::push_back(const std::shared_ptr<SharedModule>& layer) {
  register_module(std::to_string(layers_.size()), layer);
  layers_.push_back(layer);
}

SharedTensor SharedSequentialImpl::forward(const SharedTensor& x) {
  SharedTensor value = x;
  for (const auto& layer : layers_) value = layer->forward(value);
  return value;
}

}  // namespace blindfl::nn
