#include "blindfl/protocol/layer_cost.h"

#include <algorithm>

#include "blindfl/base/error.h"
#include "blindfl/he/paillier/expected_times.h"
#include "blindfl/he/paillier/paillier_scheme.h"
#include "blindfl/protocol/encrypted_update_params.h"

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
  for (const he::Plan* plan : {forward.get(), backward.get()}) {
    const he::ProductTimes times = plan->times(nonzeros(params, Party::kA));
    cost.step.seconds_a += times.load + times.multiply;
    cost.step.seconds_b += times.encrypt + times.open;
    cost.step.bytes_to_a += plan->operand_bytes();
    cost.step.bytes_to_b += plan->reply_bytes();
  }
  cost.step.rounds = 2;  // [[V_A]], product and share of Z; [[dZ]], product
  cost.memory_a = forward->operand_memory();
  return cost;
}

/// A holds [[V_A]]_B and adds X_A^T [[dZ]]_B to it.
LayerCost encrypted_a(const MatMulParams& params, const he::Scheme& scheme) {
  const auto* paillier = dynamic_cast<const he::PaillierScheme*>(&scheme);
  require<InvalidArgument>(paillier != nullptr, "layer '", params.spec().name,
                           "': updates under encryption need the scheme 'paillier' for A's features, not '",
                           scheme.name(), "'");
  const EncryptedUpdateParams update(params, paillier->params());
  const he::paillier::ExpectedTimes expected(paillier->params());
  const MatMulSpec& spec = params.spec();
  const std::size_t groups = update.weights(false).groups();
  const std::size_t derivatives = update.copies() * spec.batch * groups;
  const auto parts = static_cast<double>(update.parts());
  const auto copies = static_cast<double>(update.copies());
  const double entries = nonzeros(params, Party::kA);
  const std::uint64_t bound = params.features(Party::kA).bound();
  const double touched = he::paillier::expected_rows(spec.in_a, entries);

  LayerCost cost;
  cost.step.seconds_a = parts * expected.multiply(spec.batch, spec.in_a, groups, entries, bound) +
                        expected.write_masked(update.reply(spec.batch)) + expected.load(derivatives) +
                        copies * expected.multiply(spec.in_a, spec.batch, groups, entries, bound) +
                        copies * expected.add(touched * static_cast<double>(groups));
  cost.step.seconds_b = expected.open_masked(update.reply(spec.batch)) + expected.encrypt(derivatives);
  cost.step.bytes_to_a = update.derivative_bytes(spec.batch);
  cost.step.bytes_to_b = update.reply_bytes(spec.batch);
  cost.step.rounds = 1;  // product and share of Z; [[dZ]]
  // Each step touches new rows at most; of each matrix a table of where rows are.
  const double rows = std::min(static_cast<double>(spec.in_a), static_cast<double>(spec.sgd.steps) * entries);
  const std::uint64_t row_bytes = groups * expected.row_memory();
  cost.memory_a = update.parts() * (static_cast<std::uint64_t>(rows) * row_bytes + spec.in_a * sizeof(std::uint32_t));
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
  return cost;
}

}  // namespace

double StepCost::seconds(const Link& link) const {
  return seconds_a + seconds_b + 8.0 * static_cast<double>(bytes()) / link.bits_per_second +
         static_cast<double>(rounds) * link.round_trip;
}

StepCost& StepCost::operator+=(const StepCost& other) {
  seconds_a += other.seconds_a;
  seconds_b += other.seconds_b;
  bytes_to_a += other.bytes_to_a;
  bytes_to_b += other.bytes_to_b;
  rounds += other.rounds;
  return *this;
}

LayerCost& LayerCost::operator+=(const LayerCost& other) {
  setup += other.setup;
  step += other.step;
  memory_a += other.memory_a;
  memory_b += other.memory_b;
  return *this;
}

LayerCost cost_of(const MatMulParams& params, Party party, const he::Scheme& scheme) {
  if (params.in(party) == 0) return {};
  if (party == Party::kB) return exchanged_b(params, scheme);
  return params.encrypted() ? encrypted_a(params, scheme) : exchanged_a(params, scheme);
}

}  // namespace blindfl::protocol
