#include "blindfl/protocol/plan/layer_cost.h"

#include <algorithm>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/protocol/layers/encrypted_update_params.h"
#include "blindfl/protocol/layers/kept_products.h"

namespace blindfl::protocol {

namespace {

/// Values of a full batch that are not 0.
double nonzeros(const MatMulParams& params, Party party) {
  return static_cast<double>(params.spec().batch) * static_cast<double>(params.most_nonzeros(party));
}

/// The lift of a party's gradient under a shared top. Those of both parties travel together: B's is what it adds.
StepCost lift_of(const MatMulParams& params, Party party) {
  const std::vector<RoomLift> lifts = params.lifts();
  if (lifts.empty()) return {};
  const StepCost all = cost_of_lifts(room_lift_cost(lifts));
  if (lifts.size() == 1) return all;
  const StepCost of_a = cost_of_lifts(room_lift_cost(lifts.front()));
  if (party == Party::kA) return of_a;
  return {.seconds_a = all.seconds_a - of_a.seconds_a,
          .seconds_b = all.seconds_b - of_a.seconds_b,
          .bytes_to_a = all.bytes_to_a - of_a.bytes_to_a,
          .bytes_to_b = all.bytes_to_b - of_a.bytes_to_b,
          .rounds = 0,
          .together = all.together - of_a.together};
}

/// A multiplies twice with what B encrypts: V_A, which every step changes, and dZ. Under a shared top so does B.
LayerCost learned_by_product(const MatMulParams& params, Party party, const he::Scheme& scheme) {
  const auto forward = scheme.plan(params.forward(party, params.spec().batch));
  const auto backward = scheme.plan(params.backward(party, params.spec().batch));
  LayerCost cost;
  cost.step = cost_of_product(*forward, party, nonzeros(params, party));
  cost.step += cost_of_product(*backward, party, nonzeros(params, party));
  for (const auto& plan : {forward, backward}) cost.take_keys(scheme, *plan);
  cost.step += lift_of(params, party);
  // [[V_A]], product and share of Z; [[dZ]], product; choices and words of lifts.
  cost.step.rounds = params.shared() ? 3 : 2;
  (party == Party::kA ? cost.memory_a : cost.memory_b) = forward->operand_memory();
  cost.exposure =
      static_cast<double>(params.passes()) * (forward->exposure_of_product() + backward->exposure_of_product());
  cost.exposure.lift_failure += params.failure_of_factors(party);
  return cost;
}

/// A holds [[V_A]]_B and adds X_A^T [[dZ]]_B to it; under a shared top B does the same with [[V_B]]_A.
LayerCost learned_under_encryption(const MatMulParams& params, Party party, const he::Scheme& scheme) {
  const char* of = party == Party::kA ? "A's features" : "B's features";
  auto updates = he::updates_of<InvalidArgument>(scheme, params.spec().name, of);
  LayerCost cost = cost_of_updates({params, std::move(updates), party}, party);
  cost.step.rounds = 1;  // product and share of Z; [[dZ]]
  if (!params.shared()) return cost;
  // Shares of dZ are lifted.
  const double lifts = static_cast<double>(params.passes()) * static_cast<double>(params.spec().batch) *
                       static_cast<double>(params.spec().out);
  cost.exposure.lift_failure += lifts * params.failure_of_derivative_lift(party);
  return cost;
}

LayerCost learned(const MatMulParams& params, Party party, const he::Scheme& scheme) {
  LayerCost cost = params.encrypted(party) ? learned_under_encryption(params, party, scheme)
                                           : learned_by_product(params, party, scheme);
  // B's messages travel with those for A's features, as far as there are any.
  if (party == Party::kB && params.in(Party::kA) > 0) {
    cost.step.rounds = params.encrypted(Party::kA) && !params.encrypted(Party::kB) ? 2 : 0;
  }
  return cost;
}

/// B multiplies with what A encrypts: V_B, which stays as it was drawn unless weight decay shrinks it.
LayerCost exchanged_b(const MatMulParams& params, const he::Scheme& scheme) {
  const auto plan = scheme.plan(params.forward(Party::kB, params.spec().batch));
  const he::ProductTimes times = plan->times(nonzeros(params, Party::kB));
  LayerCost cost;
  cost.take_keys(scheme, *plan);
  cost.step.seconds_a = times.open;
  cost.step.seconds_b = times.multiply;
  cost.step.bytes_to_a = plan->reply_bytes();
  // Its messages travel with those for A's features.
  if (params.spec().in_a == 0) cost.step.rounds = 1;
  StepCost& operand = params.spec().sgd.weight_decay == 0 ? cost.setup : cost.step;
  operand += {times.encrypt, times.load, 0, plan->operand_bytes(), 0};
  cost.memory_b = plan->operand_memory();
  cost.exposure = static_cast<double>(params.passes()) * plan->exposure_of_product();
  return cost;
}

/// The same where the products of all training rows are made before the first step.
LayerCost kept_b(const MatMulParams& params, const he::Scheme& scheme) {
  const RowChunks chunks = chunks_of(params, scheme, params.spec().run.kept_rows);
  const auto plan = scheme.plan(product_of_rows(params, chunks.chunk));
  const auto batch = scheme.plan(params.forward(Party::kB, params.spec().batch));
  LayerCost cost;
  const he::ProductTimes times =
      plan->times(static_cast<double>(chunks.chunk) * static_cast<double>(params.most_nonzeros(Party::kB)));
  const auto replies = static_cast<double>(chunks.count());
  cost.setup = {.seconds_a = times.encrypt + replies * times.open,
                .seconds_b = times.load + replies * times.multiply,
                .bytes_to_a = chunks.count() * plan->reply_bytes(),
                .bytes_to_b = plan->operand_bytes(),
                .rounds = 1};
  cost.take_keys(scheme, *plan);
  cost.memory_b = std::max(plan->operand_memory(), batch->operand_memory());
  // They take the place of an epoch's passes; those of other epochs are counted all the same, for making them again
  // after resume.
  const std::uint64_t passes = params.passes();
  const std::uint64_t epoch = (chunks.rows + params.spec().batch - 1) / params.spec().batch;
  cost.exposure = static_cast<double>(passes - std::min(passes, epoch)) * batch->exposure_of_product() +
                  static_cast<double>(chunks.count()) * plan->exposure_of_product();
  return cost;
}

}  // namespace

bool keeps_products(const MatMulParams& params) {
  const MatMulSpec& spec = params.spec();
  return spec.in_b > 0 && spec.run.kept_rows > 0 && spec.sgd.weight_decay == 0 && !params.shared();
}

LayerCost cost_of(const MatMulParams& params, Party party, const he::Scheme& scheme) {
  if (params.in(party) == 0) return {};
  if (party == Party::kA || params.shared()) return learned(params, party, scheme);
  return keeps_products(params) ? kept_b(params, scheme) : exchanged_b(params, scheme);
}

}  // namespace blindfl::protocol
