#pragma once

#include <cstddef>
#include <vector>

#include "blindfl/protocol/plan/embed_planner.h"
#include "blindfl/protocol/plan/planner.h"
#include "blindfl/protocol/plan/source_options.h"

// The one way from what users say of a source layer to what the layer is made of: modules are built by it, and what
// training will cost is told by it, before there is a session.

namespace blindfl::protocol {

/// The layer as asked for. What is left open is chosen if `options` say so; if they do not, it is as MatMulSpec has it,
/// and there are no reasons. `schemes` are those of the session.
/// Throws as `plan_layer` does if it is to choose.
[[nodiscard]] LayerPlan plan_source(const FeatureShape& shape, std::size_t out, const MatMulOptions& options,
                                    const std::vector<const he::Scheme*>& schemes);

/// The same for categorical fields. Throws as `plan_embed` does if it is to choose.
[[nodiscard]] EmbedPlan plan_source(const CategoryShape& shape, std::size_t out, const EmbedMatMulOptions& options,
                                    const std::vector<const he::Scheme*>& schemes);

}  // namespace blindfl::protocol
