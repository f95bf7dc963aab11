#include "blindfl/nn/federated_parameter.h"

namespace blindfl::nn {

FederatedParameter::FederatedParameter(std::shared_ptr<protocol::MatMul> layer, protocol::Party features_of)
    : state_(std::make_shared<State>()) {
  state_->weight = &layer->weight(features_of);
  state_->layer = std::move(layer);
}

const std::string& FederatedParameter::name() const {
  return state_->weight->name;
}
protocol::Party FederatedParameter::features_of() const {
  return state_->weight->features_of;
}
const ShareMatrix& FederatedParameter::piece() const {
  return state_->weight->piece;
}
const std::optional<ShareMatrix>& FederatedParameter::grad() const {
  return state_->grad;
}
const protocol::MatMulParams& FederatedParameter::params() const {
  return state_->layer->params();
}
double FederatedParameter::batch() const {
  return static_cast<double>(params().spec().batch);
}

void FederatedParameter::accumulate_grad(const std::optional<ShareMatrix>& share) {
  state_->has_grad = true;
  if (!share) return;
  if (state_->grad) {
    *state_->grad += *share;
  } else {
    state_->grad = share;
  }
}

void FederatedParameter::zero_grad() {
  state_->has_grad = false;
  state_->grad.reset();
}

// Everything here is linear, so each party does it to its own piece with the same public factors.
void FederatedParameter::step(const SgdStep& sgd) {
  State& s = *state_;
  protocol::Weight& w = *s.weight;
  if (!s.has_grad || w.piece.values().empty()) return;
  const bool both_change = w.shared_gradient || sgd.weight_decay != 0;
  const bool mine = w.features_of == s.layer->session().party();
  if (!mine && !both_change) return;

  const int scale = params().spec().gradient_scale;
  ShareMatrix direction = s.grad ? *s.grad : ShareMatrix(w.piece.rows(), w.piece.cols(), scale);
  if (sgd.weight_decay != 0) direction += multiply_public(w.piece, PublicFactor(sgd.weight_decay * batch()), scale);
  if (sgd.momentum != 0) {
    if (s.momentum) direction += multiply_public(*s.momentum, PublicFactor(sgd.momentum), scale);
    s.momentum = direction;
  }
  // The design's eta / BS, applied once: gradients are those of the summed loss until here.
  w.piece -= multiply_public(direction, PublicFactor(sgd.learning_rate / batch()), params().spec().weight_scale);
  if (both_change) ++w.version;
}

}  // namespace blindfl::nn
