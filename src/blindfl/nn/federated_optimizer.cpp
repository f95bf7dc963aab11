#include "blindfl/nn/federated_optimizer.h"

#include <cmath>

#include "blindfl/base/error.h"

namespace blindfl::nn {

namespace {

// Bits of the largest momentum, at the gradient's scale, if every gradient were as large as it can be.
double largest_direction_bits(const FederatedParameter& p, const SgdOptions& options) {
  const protocol::MatMulSpec& spec = p.params().spec();
  const double gradient = std::ldexp(1.0, p.params().gradient_bits());
  const double decay = std::ldexp(options.weight_decay * p.batch() * spec.largest_weight, spec.gradient_scale);
  return std::log2((gradient + decay) / (1.0 - options.momentum));
}

}  // namespace

FederatedOptimizer::FederatedOptimizer(std::vector<FederatedParameter> parameters, const SgdOptions& options)
    : federated_(std::move(parameters)), options_(options) {
  check();
}

FederatedOptimizer::FederatedOptimizer(const FederatedModule& module, const SgdOptions& options)
    : FederatedOptimizer(module.federated_parameters(), options) {
  auto plain = module.parameters();
  if (plain.empty()) return;
  plain_.emplace(
      std::move(plain),
      torch::optim::SGDOptions(options.learning_rate).momentum(options.momentum).weight_decay(options.weight_decay));
}

void FederatedOptimizer::check() const {
  const auto& [learning_rate, momentum, weight_decay] = options_;
  require<InvalidArgument>(std::isfinite(learning_rate) && learning_rate >= 0 && learning_rate <= 1e6,
                           "optimizer: the learning rate must be between 0 and 1e6");
  require<InvalidArgument>(momentum >= 0 && momentum < 1, "optimizer: momentum must be at least 0 and below 1");
  require<InvalidArgument>(std::isfinite(weight_decay) && weight_decay >= 0 && weight_decay <= 1e3,
                           "optimizer: weight decay must be between 0 and 1e3");
  for (const FederatedParameter& p : federated_) {
    const double bits = largest_direction_bits(p, options_) + PublicFactor::kBits;
    require<InvalidArgument>(bits <= kMaxRescaleBits, "optimizer: '", p.name(), "' could overflow: updates of ",
                             std::ceil(bits), " bits, and at most ", kMaxRescaleBits,
                             " are safe. Lower the momentum, the batch, or the range of features or derivative");
  }
}

void FederatedOptimizer::zero_grad() {
  for (FederatedParameter& p : federated_) p.zero_grad();
  if (plain_) plain_->zero_grad();
}

void FederatedOptimizer::step() {
  for (FederatedParameter& p : federated_) {
    p.step({options_.learning_rate, options_.momentum, options_.weight_decay});
  }
  if (plain_) plain_->step();
}

void FederatedOptimizer::set_learning_rate(double learning_rate) {
  const double before = options_.learning_rate;
  options_.learning_rate = learning_rate;
  try {
    check();
  } catch (...) {
    options_.learning_rate = before;
    throw;
  }
  if (!plain_) return;
  for (auto& group : plain_->param_groups()) {
    static_cast<torch::optim::SGDOptions&>(group.options()).lr(learning_rate);
  }
}

}  // namespace blindfl::nn
