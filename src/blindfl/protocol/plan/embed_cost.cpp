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
  (party == Party::kA ? cost.memory_a : cost.memory_b) = lookup->operand_memory();
  cost.exposure = static_cast<double>(params.passes()) * (lookup->exposure_of_reply() + gradient->exposure_of_reply());
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
  return field.update == Update::kEncrypted ? encrypted_field(params, party, field, scheme)
                                            : exchanged_field(params, party, field, scheme);
}

LayerCost cost_of_weights(const EmbedMatMulParams& params, const he::Scheme& scheme) {
  const std::size_t batch = params.spec().batch;
  const auto embedding = scheme.plan(params.embedding(params.choose_limbs(scheme), batch));
  const auto gradient = scheme.plan(params.weight_gradient(batch));
  const auto derivative = scheme.plan(params.embedding_derivative(batch));
  LayerCost cost;
  // Shares of embeddings are as good as random: none of their limbs is 0. Nor is a derivative.
  for (const Party party : {Party::kA, Party::kB}) {
    cost.step += cost_of_product(*embedding, party, all_of(embedding->spec()));
  }
  for (const auto& plan : {gradient, derivative}) {
    cost.step += cost_of_product(*plan, Party::kB, all_of(plan->spec()));
  }
  // Operands, lookups; products, share of Z; what B's dZ makes, shares of dE. Gradients of tables, where they are
  // exchanged, are half a round trip more, which is no single field's.
  cost.step.rounds = 3;
  cost.memory_a = embedding->operand_memory();
  cost.memory_b = embedding->operand_memory() + derivative->operand_memory();
  const double both_pieces = 2 * embedding->exposure_of_reply();
  cost.exposure = static_cast<double>(params.passes()) *
                  (both_pieces + gradient->exposure_of_reply() + derivative->exposure_of_reply());
  return cost;
}

}  // namespace blindfl::protocol
