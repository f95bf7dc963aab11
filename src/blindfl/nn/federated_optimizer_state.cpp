#include <algorithm>
#include <cmath>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/base/saved_state.h"
#include "blindfl/nn/optimizer_slot.h"
#include "blindfl/nn/tensor_bytes.h"

// Saving and loading of FederatedOptimizer. docs/formats.md, "Saved state", has the bytes.

namespace blindfl::nn {

namespace {

/// torch's optimizers know their state of a parameter by this name.
std::string key_of(const torch::Tensor& parameter) {
  return c10::guts::to_string(parameter.unsafeGetTensorImpl());
}

}  // namespace

protocol::Settings FederatedOptimizer::state_settings() const {
  protocol::Settings settings;
  settings.add("state", "optimizer");
  for (const protocol::Session* session : sessions_) settings.add("party", name_of(session->party()));
  settings.add(initial_.settings());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const protocol::Weight& w = slots_[i].parameter.weight();
    const std::string name = "weight " + std::to_string(i);
    settings.add(name + ".rows", w.piece.rows()).add(name + ".cols", w.piece.cols());
    settings.add(name + ".momentum", keeps(slots_[i]) ? "shared" : "in the layer");
    settings.add(name + ".scale", w.gradient_scale).add(name + ".batch", w.batch);
  }
  const auto plain = plain_parameters();
  for (std::size_t i = 0; i < plain.size(); ++i) {
    settings.add("tensor " + std::to_string(i), shape_in_words(plain[i]));
  }
  return settings;
}

std::vector<torch::Tensor> FederatedOptimizer::plain_parameters() const {
  std::vector<torch::Tensor> all;
  if (!plain_) return all;
  for (const auto& group : plain_->param_groups()) {
    all.insert(all.end(), group.params().begin(), group.params().end());
  }
  return all;
}

torch::Tensor FederatedOptimizer::plain_momentum(const torch::Tensor& parameter) const {
  const auto found = plain_->state().find(key_of(parameter));
  if (found == plain_->state().end()) return {};
  return static_cast<const torch::optim::SGDParamState&>(*found->second).momentum_buffer();
}

void FederatedOptimizer::set_plain_momentum(const torch::Tensor& parameter, const torch::Tensor& momentum) {
  if (!momentum.defined()) {
    plain_->state().erase(key_of(parameter));
    return;
  }
  auto state = std::make_unique<torch::optim::SGDParamState>();
  state->momentum_buffer(momentum.to(parameter.device()));
  plain_->state()[key_of(parameter)] = std::move(state);
}

void FederatedOptimizer::save(ByteSink& out) const {
  for (const Slot& slot : slots_) {
    require<InvalidArgument>(slot.parameter.passes() <= slot.applied_passes,
                             "optimizer: state is saved between steps, not between a backward pass and its step. Take "
                             "the step, or forget the gradients by zero_grad()");
  }
  write_state_header(out, state_settings());
  const protocol::StateOrigin::Clock clock{steps_taken_};
  for (std::size_t i = 0; i < sessions_.size(); ++i) origins_[i].save(out, *sessions_[i], clock);
  out.write_u64(steps_taken_);
  out.write_real(options().learning_rate);
  for (const Slot& slot : slots_) {
    if (!keeps(slot)) continue;
    out.write_u8(slot.momentum ? 1 : 0);
    if (slot.momentum) out.write_u128(slot.momentum->values());
  }
  for (const torch::Tensor& parameter : plain_parameters()) {
    const torch::Tensor momentum = plain_momentum(parameter);
    out.write_u8(momentum.defined() ? 1 : 0);
    if (momentum.defined()) write_values(out, momentum);
  }
}

void FederatedOptimizer::load(ByteSource& in) {
  reading_state([&] {
    // Where no layer has planned its room for all steps, a training may be made longer.
    const bool may_be_longer = std::ranges::all_of(slots_, [](const Slot& slot) {
      return keeps(slot) || !slot.parameter.weight().update->has_room_for_planned_steps_only();
    });
    protocol::read_state_header(in, "this optimizer", state_settings(), may_be_longer ? "steps" : "");
    std::vector<Bytes> origins(sessions_.size());
    for (Bytes& origin : origins) origin = protocol::StateOrigin::read(in);
    const std::uint64_t steps = in.read_u64();
    require<DataError>(steps >> 63 == 0 && (options().steps == 0 || steps <= options().steps),
                       "the saved state of the optimizer is damaged: it counts more steps than were planned");
    const double learning_rate = in.read_real();
    std::vector<std::optional<ShareMatrix>> momenta(slots_.size());
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (!keeps(slots_[i]) || !in.read_flag()) continue;
      const protocol::Weight& w = slots_[i].parameter.weight();
      momenta[i].emplace(w.piece.rows(), w.piece.cols(), w.gradient_scale);
      in.read_u128(momenta[i]->values());
    }
    const auto plain = plain_parameters();
    std::vector<torch::Tensor> plain_momenta(plain.size());
    for (std::size_t i = 0; i < plain.size(); ++i) {
      if (in.read_flag()) plain_momenta[i] = read_values(in, plain[i]);
    }
    if (learning_rate != options().learning_rate) {
      try {
        take_learning_rate(learning_rate);
      } catch (const InvalidArgument& error) {
        fail<DataError>("the saved state of the optimizer has a learning rate that cannot be: ", error.what());
      }
    }
    for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i].momentum = std::move(momenta[i]);
    for (std::size_t i = 0; i < plain.size(); ++i) set_plain_momentum(plain[i], plain_momenta[i]);
    steps_taken_ = steps;
    zero_grad();
    agree();  // on the learning rate of then
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
      origins_[i].loaded(*sessions_[i], "the optimizer", origins[i], {steps});
    }
  });
}

}  // namespace blindfl::nn
