#include "blindfl/protocol/plan/layer_cost.h"

#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/protocol/layers/encrypted_update_params.h"

namespace blindfl::protocol {

namespace {

/// Values of a full batch that are not 0.
double nonzeros(const MatMulParams& params, Party party) {
  return static_cast<double>(params.spec().batch) * static_cast<double>(params.most_nonzeros(party));
}

/// A multiplies twice with what B encrypts: V_A, which every step changes, and dZ.
LayerCost exchanged_a(const MatMulParams& params, const he::Scheme& scheme) {
  const auto forward = scheme.plan(params.forward(Party::kA, params.spec().batch));
  const auto backward = scheme.plan(params.backward(Party::kA, params.spec().batch));
  LayerCost cost;
  cost.step = cost_of_product(*forward, Party::kA, nonzeros(params, Party::kA));
  cost.step += cost_of_product(*backward, Party::kA, nonzeros(params, Party::kA));
  cost.step.rounds = 2;  // [[V_A]], product and share of Z; [[dZ]], product
  cost.memory_a = forward->operand_memory();
  cost.exposure = static_cast<double>(params.passes()) * (forward->exposure_of_reply() + backward->exposure_of_reply());
  return cost;
}

/// A holds [[V_A]]_B and adds X_A^T [[dZ]]_B to it.
LayerCost encrypted_a(const MatMulParams& params, const he::Scheme& scheme) {
  auto updates = he::updates_of<InvalidArgument>(scheme, params.spec().name, "A's features");
  LayerCost cost = cost_of_updates({params, std::move(updates)}, Party::kA);
  cost.step.rounds = 1;  // product and share of Z; [[dZ]]
  return cost;
}

/// B multiplies with what A encrypts: V_B, which stays as it was drawn unless weight decay shrinks it.
LayerCost exchanged_b(const MatMulParams& params, const he::Scheme& scheme) {
  const auto plan = scheme.plan(params.forward(Party::kB, params.spec().batch));
  const he::ProductTimes times = plan->times(nonzeros(params, Party::kB));
  LayerCost cost;
  cost.step.seconds_a = times.open;
  cost.step.seconds_b = times.multiply;
  cost.step.bytes_to_a = plan->reply_bytes();
  // Its messages travel with those for A's features.
  if (params.spec().in_a == 0) cost.step.rounds = 1;
  StepCost& operand = params.spec().sgd.weight_decay == 0 ? cost.setup : cost.step;
  operand += {times.encrypt, times.load, 0, plan->operand_bytes(), 0};
  cost.memory_b = plan->operand_memory();
  cost.exposure = static_cast<double>(params.passes()) * plan->exposure_of_reply();
  return cost;
}

}  // namespace

LayerCost cost_of(const MatMulParams& params, Party party, const he::Scheme& scheme) {
  if (params.in(party) == 0) return {};
  if (party == Party::kB) return exchanged_b(params, scheme);
  return params.encrypted() ? encrypted_a(params, scheme) : exchanged_a(params, scheme);
}

}  // namespace blindfl::protocol
