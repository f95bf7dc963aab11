#include "blindfl/protocol/plan/embed_cost.h"

#include <algorithm>
#include <utility>

#include "blindfl/base/error.h"

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

}  // namespace

LayerCost cost_of_field(const EmbedMatMulParams& params, Party party, const EmbedField& field,
                        const he::Scheme& scheme) {
  LayerCost cost = field.update == Update::kEncrypted ? encrypted_field(params, party, field, scheme)
                                                      : exchanged_field(params, party, field, scheme);
  // The correction that makes pieces of looked-up embeddings: a word for each value.
  const std::uint64_t values = std::uint64_t{params.spec().batch} * params.spec().dimension;
  (party == Party::kA ? cost.step.bytes_to_b : cost.step.bytes_to_a) += values * sizeof(std::uint64_t);
  cost.exposure.divergence +=
      static_cast<double>(params.passes()) * static_cast<double>(values) * params.divergence_of_piece();
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
  // Operands, lookups; products, share of Z; what B's dZ makes, shares of dE. Under a shared top what shares of dZ need
  // comes in the place of the share of Z, and then lifts. Gradients of tables, where they are exchanged, are half a
  // round trip more, which is no single field's.
  cost.step += cost_of_lifts(room_lift_cost(params.lifts(batch)));
  cost.step.rounds = params.shared() ? 4 : 3;
  for (const auto& plan : {embedding, gradient, derivative}) cost.take_keys(scheme, *plan);
  cost.memory_b = embedding->operand_memory() + derivative->operand_memory();
  cost.memory_a = params.shared() ? cost.memory_b : embedding->operand_memory();
  const he::Exposure both_pieces = 2 * embedding->exposure_of_product();
  const he::Exposure one_way = gradient->exposure_of_product() + derivative->exposure_of_product();
  const auto passes = static_cast<double>(params.passes());
  cost.exposure = passes * (both_pieces + (params.shared() ? 2.0 : 1.0) * one_way);
  cost.exposure.lift_failure += params.failure_of_weights();
  if (!params.shared()) return cost;
  const double derivatives = static_cast<double>(batch) * static_cast<double>(params.inputs());
  cost.exposure.lift_failure += passes * derivatives * params.failure_of_derivative_lift();
  return cost;
}

}  // namespace blindfl::protocol
