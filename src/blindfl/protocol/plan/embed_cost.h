#pragma once

#include "blindfl/he/scheme.h"
#include "blindfl/protocol/layers/embed_params.h"
#include "blindfl/protocol/plan/step_cost.h"

// What an Embed-MatMul layer will cost, before it is made: part by part, because each field's table has a scheme and an
// update of its own. Every part is sent anew with every step, so nothing comes once.

namespace blindfl::protocol {

/// What a field of `party` costs under `scheme`, with the update that it has: lookups and updates of its table. Its
/// messages travel with those of all other fields and of the weights, whose round trips `cost_of_weights` counts. Rows
/// are taken to have as many categories as they may have.
/// Throws InvalidArgument, with the reason, if the scheme cannot do it.
[[nodiscard]] LayerCost cost_of_field(const EmbedMatMulParams& params, Party party, const EmbedField& field,
                                      const he::Scheme& scheme);

/// The same for a field whose table is looked up in, and learns, by oblivious transfer. Random OTs come in tiles, a few
/// steps' at a time: their bytes are a step's part of them, rounded up.
/// Throws InvalidArgument, with the reason, if the field's table cannot be one.
[[nodiscard]] LayerCost cost_of_ot_field(const EmbedMatMulParams& params, Party party, EmbedField field);

/// What the products with the weights cost under `scheme`: of both shares of the embeddings with both of the weights,
/// the weights' gradient and the embeddings' derivative. The layer's round trips are in it.
/// Throws InvalidArgument, with the reason, if the scheme cannot do it.
[[nodiscard]] LayerCost cost_of_weights(const EmbedMatMulParams& params, const he::Scheme& scheme);

}  // namespace blindfl::protocol
