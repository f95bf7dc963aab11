#include "blindfl/protocol/plan/embed_cost.h"

#include <algorithm>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/protocol/layers/lookup_plan.h"
#include "blindfl/protocol/session/party_cost.h"

namespace blindfl::protocol {

namespace {

/// Every value of the matrix on the left.
double all_of(const he::ProductSpec& spec) {
  return static_cast<double>(spec.rows) * static_cast<double>(spec.inner);
}

/// The party with the field multiplies twice with what the other encrypts: T, which every step changes, and its share
/// of dE.
LayerCost exchanged_field(const EmbedMatMulParams& params, Party party, const EmbedField& field,
                          const he::Scheme& scheme) {
  const std::size_t batch = params.spec().batch;
  const auto lookup = scheme.plan(params.lookup(field, batch));
  const auto gradient = scheme.plan(params.table_gradient(field, batch));
  const double entries =
      static_cast<double>(batch) * static_cast<double>(std::min(field.field.most, field.field.categories));
  LayerCost cost;
  cost.step = cost_of_product(*lookup, party, entries);
  cost.step += cost_of_product(*gradient, party, entries);
  for (const auto& plan : {lookup, gradient}) cost.take_keys(scheme, *plan);
  (party == Party::kA ? cost.memory_a : cost.memory_b) = lookup->operand_memory();
  cost.exposure =
      static_cast<double>(params.passes()) * (lookup->exposure_of_product() + gradient->exposure_of_product());
  return cost;
}

/// The party with the field holds [[T]], looks up in it, and adds X^T [[dE]] to it.
LayerCost encrypted_field(const EmbedMatMulParams& params, Party party, const EmbedField& field,
                          const he::Scheme& scheme) {
  auto updates = he::updates_of<InvalidArgument>(scheme, params.spec().name, "the field's table");
  return cost_of_updates({params.encrypted_update(field), std::move(updates)}, party);
}

// Seconds on one core of the machine that docs/appendix/planner.md names: of an AES block of trees or rows.
constexpr double kSecondsOfBlock = 1.0e-9;

/// The correction that makes pieces of looked-up embeddings: a word for each value. And what pieces give away.
void add_pieces(const EmbedMatMulParams& params, Party party, LayerCost& cost) {
  const std::uint64_t values = std::uint64_t{params.spec().batch} * params.spec().dimension;
  (party == Party::kA ? cost.step.bytes_to_b : cost.step.bytes_to_a) += values * sizeof(std::uint64_t);
  cost.exposure.divergence +=
      static_cast<double>(params.passes()) * static_cast<double>(values) * params.divergence_of_piece();
}

}  // namespace

LayerCost cost_of_ot_field(const EmbedMatMulParams& params, Party party, EmbedField field) {
  field.scheme = kByOt;
  const std::string refused = ot_refusal(field);
  require<InvalidArgument>(refused.empty(), "field '", field.field.name, "': ", refused);
  const std::size_t dimension = params.spec().dimension;
  const LookupPlan plan =
      lookup_plan(params.spec().batch, field.field.most, field.field.categories, dimension, field.calls);
  const double blocks =
      plan.keys_blocks() + plan.rows_blocks(sizeof(std::uint64_t)) + plan.rows_blocks(sizeof(UInt128));
  const double seconds = kSecondsOfBlock * blocks + kOtSeconds * static_cast<double>(plan.ots());
  LayerCost cost;
  cost.step.seconds_a = cost.step.seconds_b = seconds;
  const std::uint64_t asked = plan.ask_bytes() + ot_bytes(plan.ots());
  const std::uint64_t answered =
      plan.answer_bytes() + plan.gather_bytes(sizeof(std::uint64_t)) + plan.scatter_bytes(sizeof(UInt128));
  cost.step.bytes_to_a = party == Party::kA ? answered : asked;
  cost.step.bytes_to_b = party == Party::kA ? asked : answered;
  // Those of the coming batch are made beside them.
  cost.memory_a = cost.memory_b = 2 * plan.memory();
  // Once in a session, whoever uses them.
  cost.keys.emplace("random OTs", OtPools::setup_bytes());
  const double values = static_cast<double>(field.field.categories) * static_cast<double>(dimension);
  cost.exposure.lift_failure = static_cast<double>(params.passes()) * values * params.failure_of_table_lift(field) +
                               params.failure_of_table(field);
  add_pieces(params, party, cost);
  return cost;
}

LayerCost cost_of_field(const EmbedMatMulParams& params, Party party, const EmbedField& field,
                        const he::Scheme& scheme) {
  LayerCost cost = field.update == Update::kEncrypted ? encrypted_field(params, party, field, scheme)
                                                      : exchanged_field(params, party, field, scheme);
  add_pieces(params, party, cost);
  cost.exposure.lift_failure += params.failure_of_table(field);
  return cost;
}

LayerCost cost_of_weights(const EmbedMatMulParams& params, const he::Scheme& scheme) {
  const std::size_t batch = params.spec().batch;
  const auto embedding = scheme.plan(params.embedding(params.choose_limbs(scheme), batch));
  const auto gradient =
      scheme.plan(params.shared() ? params.shared_weight_gradient(params.choose_gradient_limbs(scheme), batch)
                                  : params.weight_gradient(batch));
  const auto derivative =
      scheme.plan(params.shared() ? params.shared_embedding_derivative(params.choose_derivative_limbs(scheme), batch)
                                  : params.embedding_derivative(batch));
  LayerCost cost;
  // Shares of embeddings are as good as random: none of their limbs is 0. Nor is a derivative.
  for (const Party party : {Party::kA, Party::kB}) {
    cost.step += cost_of_product(*embedding, party, all_of(embedding->spec()));
    // B has all of dZ, or each party a share.
    if (party == Party::kA && !params.shared()) continue;
    for (const auto& plan : {gradient, derivative}) cost.step += cost_of_product(*plan, party, all_of(plan->spec()));
  }
  // Operands, lookups; products, share of Z; what B's dZ makes, shares of dE; lifts, if any are exact. Under a shared
  // top what shares of dZ need comes in the place of the share of Z. Gradients of tables, where they are exchanged, are
  // half a round trip more, and so is asking for look-ups by oblivious transfer; neither is a single field's.
  cost.step += cost_of_lifts(room_lift_cost(params.lifts(batch)));
  cost.step.rounds = params.lifts_with_room() ? 4 : 3;
  for (const auto& plan : {embedding, gradient, derivative}) cost.take_keys(scheme, *plan);
  cost.memory_b = embedding->operand_memory() + derivative->operand_memory();
  cost.memory_a = params.shared() ? cost.memory_b : embedding->operand_memory();
  const he::Exposure both_pieces = 2 * embedding->exposure_of_product();
  const he::Exposure one_way = gradient->exposure_of_product() + derivative->exposure_of_product();
  const auto passes = static_cast<double>(params.passes());
  cost.exposure = passes * (both_pieces + (params.shared() ? 2.0 : 1.0) * one_way);
  cost.exposure.lift_failure += params.failure_of_weights();
  if (!params.lifts_with_room()) return cost;
  const double derivatives = static_cast<double>(batch) * static_cast<double>(params.inputs());
  cost.exposure.lift_failure += passes * derivatives * params.failure_of_derivative_lift();
  return cost;
}

}  // namespace blindfl::protocol
