#include "blindfl/nn/federated_parameter.h"

#include <algorithm>
#include <utility>

#include "blindfl/protocol/layers/weight.h"
#include "blindfl/protocol/session/session.h"

namespace blindfl::nn {

struct FederatedParameter::State {
  protocol::Session* session;
  std::shared_ptr<protocol::Weight> weight;
  std::size_t passes = 0;
  std::optional<ShareMatrix> grad = std::nullopt;
};

FederatedParameter::FederatedParameter(protocol::Session& session, std::shared_ptr<protocol::Weight> weight)
    : state_(std::make_shared<State>(State{&session, std::move(weight)})) {}

protocol::Session& FederatedParameter::session() const {
  return *state_->session;
}
const protocol::Weight& FederatedParameter::weight() const {
  return *state_->weight;
}
const std::string& FederatedParameter::name() const {
  return weight().name;
}
const ShareMatrix& FederatedParameter::piece() const {
  return weight().piece;
}
const std::optional<ShareMatrix>& FederatedParameter::grad() const {
  return state_->grad;
}
std::size_t FederatedParameter::passes() const {
  return state_->passes;
}

void FederatedParameter::accumulate_grad(const std::optional<ShareMatrix>& share) {
  ++state_->passes;
  if (!share) return;
  if (state_->grad) {
    *state_->grad += *share;
  } else {
    state_->grad = share;
  }
}

void FederatedParameter::zero_grad() {
  state_->passes = 0;
  state_->grad.reset();
  if (state_->weight->update) state_->weight->update->discard();
}

void FederatedParameter::subtract(const ShareMatrix& step, bool both_change) {
  state_->weight->piece -= step;
  if (both_change) ++state_->weight->version;
}

std::vector<protocol::Session*> sessions_of(std::span<const FederatedParameter> parameters) {
  std::vector<protocol::Session*> sessions;
  for (const FederatedParameter& parameter : parameters) {
    if (std::ranges::find(sessions, &parameter.session()) == sessions.end()) sessions.push_back(&parameter.session());
  }
  // The first layer need not be one with all A's.
  std::ranges::stable_sort(sessions, {}, [](const protocol::Session* session) { return session->place().index; });
  return sessions;
}

}  // namespace blindfl::nn
