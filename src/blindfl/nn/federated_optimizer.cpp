#include "blindfl/nn/federated_optimizer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/nn/optimizer_slot.h"
#include "blindfl/protocol/session/session.h"

namespace blindfl::nn {

namespace {

// A layer that updates its weights itself made room for what it was told.
void check_planned(const protocol::Weight& weight, const SgdOptions& options) {
  SgdOptions planned = weight.update->plan().options();
  if (!weight.update->has_room_for_planned_steps_only()) {
    planned.steps = options.steps;
    planned.passes_per_step = options.passes_per_step;
  }
  const std::string differences =
      protocol::Settings::differences(planned.settings(), options.settings(), "in the layer", "in the optimizer");
  require<InvalidArgument>(differences.empty(), "optimizer: '", weight.name,
                           "' is updated by its layer, which made room for other options: ", differences,
                           ". Give both the same");
}

}  // namespace

FederatedOptimizer::FederatedOptimizer(const std::vector<FederatedParameter>& parameters, const SgdOptions& options)
    : sessions_(sessions_of(parameters)), plan_(options), initial_(options), origins_(sessions_.size()) {
  for (const FederatedParameter& parameter : parameters) {
    slots_.push_back({parameter, std::nullopt});
    if (parameter.weight().update) {
      check_planned(parameter.weight(), options);
    } else {
      check_bits(slots_.back(), plan_);
    }
  }
  agree();
}

FederatedOptimizer::FederatedOptimizer(const FederatedModule& module, const SgdOptions& options)
    : FederatedOptimizer(module.federated_parameters(), options) {
  auto plain = module.parameters();
  if (plain.empty()) return;
  plain_.emplace(
      std::move(plain),
      torch::optim::SGDOptions(options.learning_rate).momentum(options.momentum).weight_decay(options.weight_decay));
}

FederatedOptimizer::~FederatedOptimizer() = default;

bool FederatedOptimizer::keeps(const Slot& slot) {
  return !slot.parameter.weight().update;
}

// Bits of what is rescaled, if every gradient and weight were as large as it can be: the momentum, and the weight for
// its decay, each times a factor of 24 bits; and of what is subtracted from the weight at the largest learning rate.
void FederatedOptimizer::check_bits(const Slot& slot, const protocol::SgdPlan& plan) {
  const SgdOptions& options = plan.options();
  const protocol::Weight& w = slot.parameter.weight();
  const auto batch = static_cast<double>(w.batch);
  const double gradient = std::ldexp(static_cast<double>(slot.most_passes), w.gradient_bits);
  const double decay = std::ldexp(options.weight_decay * batch * w.largest, w.gradient_scale);
  const double direction = std::log2((gradient + decay) / (1.0 - options.momentum));
  double bits = direction + PublicFactor::kBits;
  if (options.weight_decay != 0) bits = std::max(bits, std::log2(w.largest) + w.piece.scale() + PublicFactor::kBits);
  const double lifted = w.piece.scale() - w.gradient_scale;
  bits = std::max(bits, direction + lifted + std::log2(plan.largest_learning_rate() / batch));
  require<InvalidArgument>(bits <= kMaxRescaleBits, "optimizer: '", w.name, "' could overflow: updates of ",
                           std::ceil(bits), " bits, and at most ", kMaxRescaleBits,
                           " are safe. Lower the learning rate, the momentum, the batch, or the range of features, "
                           "derivative or weights");
}

// A party with another learning rate would not only train nonsense: Z would tell B of A's features. So the settings are
// compared before the next output is opened.
void FederatedOptimizer::agree() const {
  for (protocol::Session* session : sessions_) session->agree("the optimizer", options().settings());
}

void FederatedOptimizer::zero_grad() {
  for (Slot& slot : slots_) {
    slot.parameter.zero_grad();
    slot.applied_passes = 0;
  }
  if (plain_) plain_->zero_grad();
}

void FederatedOptimizer::step() {
  const double learning_rate = plan_.learning_rate_at(steps_taken_);
  for (Slot& slot : slots_) {
    const Stopwatch::Lap lap(slot.parameter.session().protocol_time());
    step(slot, learning_rate);
    slot.applied_passes = slot.parameter.passes();
  }
  ++steps_taken_;
  if (!plain_) return;
  for (auto& group : plain_->param_groups()) {
    static_cast<torch::optim::SGDOptions&>(group.options()).lr(learning_rate);
  }
  plain_->step();
}

// Everything here is linear, so each party does it to its own share with the same public factors.
void FederatedOptimizer::step(Slot& slot, double learning_rate) {
  const SgdOptions& sgd = options();
  FederatedParameter& p = slot.parameter;
  const protocol::Weight& w = p.weight();
  if (w.update) {
    w.update->step();
    return;
  }
  if (w.elsewhere) {
    // There is nothing to change here, but A's share decays.
    if (p.passes() > 0 && sgd.weight_decay != 0) p.subtract(w.piece, /*both_change=*/true);
    return;
  }
  if (p.passes() == 0 || w.piece.values().empty()) return;
  if (p.passes() > slot.most_passes) {
    slot.most_passes = p.passes();
    check_bits(slot, plan_);
  }
  const bool both_change = w.shared_gradient || sgd.weight_decay != 0;
  const bool mine = w.features_of == p.session().party();
  if (!mine && !both_change) return;

  const auto batch = static_cast<double>(w.batch);
  const int scale = w.gradient_scale;
  ShareMatrix direction = p.grad() ? *p.grad() : ShareMatrix(w.piece.rows(), w.piece.cols(), scale);
  if (sgd.weight_decay != 0) {
    direction += multiply_public(w.piece, PublicFactor(sgd.weight_decay * batch), scale);
  }
  if (sgd.momentum != 0) {
    if (slot.momentum) direction += multiply_public(*slot.momentum, PublicFactor(sgd.momentum), scale);
    slot.momentum = direction;
  }
  // The design's eta / BS, applied once: gradients are those of the summed loss until here.
  p.subtract(multiply_public(direction, PublicFactor(learning_rate / batch), w.piece.scale()), both_change);
}

void FederatedOptimizer::set_learning_rate(double learning_rate) {
  const double before = options().learning_rate;
  take_learning_rate(learning_rate);
  if (learning_rate != before) agree();
}

void FederatedOptimizer::take_learning_rate(double learning_rate) {
  SgdOptions changed = plan_.options();
  require<InvalidArgument>(changed.schedule.empty(),
                           "optimizer: the learning rate follows the schedule in the options, which both parties have "
                           "agreed on. Put the change into the schedule, or leave the schedule empty");
  changed.learning_rate = learning_rate;
  const protocol::SgdPlan plan(changed);
  for (const Slot& slot : slots_) {
    require<InvalidArgument>(!slot.parameter.weight().update, "optimizer: '", slot.parameter.name(),
                             "' is updated by its layer, where every learning rate must be planned. Put the change "
                             "into the schedule");
    check_bits(slot, plan);
  }
  plan_ = plan;
}

}  // namespace blindfl::nn
