#pragma once

#include "blindfl/he/scheme.h"
#include "blindfl/protocol/layers/matmul_params.h"
#include "blindfl/protocol/plan/step_cost.h"

// What a MatMul layer will cost, before it is made.

namespace blindfl::protocol {

/// Whether the products with B's features are made once for all training rows: they are known, and nothing changes A's
/// share of the weights.
[[nodiscard]] bool keeps_products(const MatMulParams& params);

/// What the features of `party` in a layer cost under `scheme`, with the update that `params` has. Nothing if there are
/// none. Rows are taken to have all the non-zero features that they may have.
/// Throws InvalidArgument, with the reason, if the scheme cannot do it.
[[nodiscard]] LayerCost cost_of(const MatMulParams& params, Party party, const he::Scheme& scheme);

}  // namespace blindfl::protocol
