#include "blindfl/nn/federated_optimizer.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "blindfl/base/error.h"

namespace blindfl::nn {

protocol::Settings SgdOptions::settings() const {
  protocol::Settings settings;
  settings.add("learning_rate", learning_rate).add("momentum", momentum).add("weight_decay", weight_decay);
  return settings;
}

FederatedOptimizer::FederatedOptimizer(const std::vector<FederatedParameter>& parameters, const SgdOptions& options)
    : options_(options) {
  check_options();
  for (const FederatedParameter& parameter : parameters) {
    slots_.push_back({parameter, std::nullopt});
    check_bits(slots_.back());
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

void FederatedOptimizer::check_options() const {
  const auto& [learning_rate, momentum, weight_decay] = options_;
  require<InvalidArgument>(std::isfinite(learning_rate) && learning_rate >= 0 && learning_rate <= 1e6,
                           "optimizer: the learning rate must be between 0 and 1e6");
  require<InvalidArgument>(momentum >= 0 && momentum < 1, "optimizer: momentum must be at least 0 and below 1");
  require<InvalidArgument>(std::isfinite(weight_decay) && weight_decay >= 0 && weight_decay <= 1e3,
                           "optimizer: weight decay must be between 0 and 1e3");
}

// Bits of what is rescaled, if every gradient and weight were as large as it can be: the momentum, and the weight for
// its decay, each times a factor of 24 bits.
void FederatedOptimizer::check_bits(const Slot& slot) const {
  const protocol::Weight& w = slot.parameter.weight();
  const auto batch = static_cast<double>(w.batch);
  const double gradient = std::ldexp(static_cast<double>(slot.most_passes), w.gradient_bits);
  const double decay = std::ldexp(options_.weight_decay * batch * w.largest, w.gradient_scale);
  double bits = std::log2((gradient + decay) / (1.0 - options_.momentum));
  if (options_.weight_decay != 0) bits = std::max(bits, std::log2(w.largest) + w.piece.scale());
  bits += PublicFactor::kBits;
  require<InvalidArgument>(bits <= kMaxRescaleBits, "optimizer: '", w.name, "' could overflow: updates of ",
                           std::ceil(bits), " bits, and at most ", kMaxRescaleBits,
                           " are safe. Lower the momentum, the batch, or the range of features, derivative or weights");
}

// A party with another learning rate would not only train nonsense: Z would tell B of A's features. So the settings are
// compared before the next output is opened.
void FederatedOptimizer::agree() const {
  if (!slots_.empty()) slots_.front().parameter.session().agree("the optimizer", options_.settings());
}

void FederatedOptimizer::zero_grad() {
  for (Slot& slot : slots_) slot.parameter.zero_grad();
  if (plain_) plain_->zero_grad();
}

void FederatedOptimizer::step() {
  for (Slot& slot : slots_) step(slot);
  if (plain_) plain_->step();
}

// Everything here is linear, so each party does it to its own piece with the same public factors.
void FederatedOptimizer::step(Slot& slot) {
  FederatedParameter& p = slot.parameter;
  const protocol::Weight& w = p.weight();
  if (p.passes() == 0 || w.piece.values().empty()) return;
  if (p.passes() > slot.most_passes) {
    slot.most_passes = p.passes();
    check_bits(slot);
  }
  const bool both_change = w.shared_gradient || options_.weight_decay != 0;
  const bool mine = w.features_of == p.session().party();
  if (!mine && !both_change) return;

  const auto batch = static_cast<double>(w.batch);
  const int scale = w.gradient_scale;
  ShareMatrix direction = p.grad() ? *p.grad() : ShareMatrix(w.piece.rows(), w.piece.cols(), scale);
  if (options_.weight_decay != 0) {
    direction += multiply_public(w.piece, PublicFactor(options_.weight_decay * batch), scale);
  }
  if (options_.momentum != 0) {
    if (slot.momentum) direction += multiply_public(*slot.momentum, PublicFactor(options_.momentum), scale);
    slot.momentum = direction;
  }
  // The design's eta / BS, applied once: gradients are those of the summed loss until here.
  p.subtract(multiply_public(direction, PublicFactor(options_.learning_rate / batch), w.piece.scale()), both_change);
}

void FederatedOptimizer::set_learning_rate(double learning_rate) {
  const double before = std::exchange(options_.learning_rate, learning_rate);
  try {
    check_options();
  } catch (...) {
    options_.learning_rate = before;
    throw;
  }
  if (learning_rate != before) agree();
  if (!plain_) return;
  for (auto& group : plain_->param_groups()) {
    static_cast<torch::optim::SGDOptions&>(group.options()).lr(learning_rate);
  }
}

}  // namespace blindfl::nn
