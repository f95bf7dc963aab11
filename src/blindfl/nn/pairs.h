#pragma once

#include <cstddef>
#include <vector>

#include "blindfl/protocol/plan/plan_row.h"
#include "blindfl/protocol/plan/source_options.h"
#include "blindfl/protocol/session/per_peer.h"
#include "blindfl/protocol/session/sessions.h"

// What layers with several A's have in common: the shapes of their pairs, and what they add up to.

namespace blindfl::nn {

// What the layer with each peer takes of the shapes, and what all parties have together.
// Throw InvalidArgument if the A's have not agreed on masks, or there is not a shape for each.

[[nodiscard]] std::vector<protocol::FeatureShape> pair_shapes(const protocol::Sessions& sessions,
                                                              const protocol::PerPeer<protocol::FeatureShape>& shapes);
[[nodiscard]] std::vector<protocol::CategoryShape> pair_shapes(
    const protocol::Sessions& sessions, const protocol::PerPeer<protocol::CategoryShape>& shapes);
[[nodiscard]] std::size_t all_features(const protocol::Sessions& sessions,
                                       const protocol::PerPeer<protocol::FeatureShape>& shapes);
[[nodiscard]] std::size_t all_fields(const protocol::Sessions& sessions,
                                     const protocol::PerPeer<protocol::CategoryShape>& shapes);

/// The rows of all plans, one peer's after the other's.
template <class Plan>
[[nodiscard]] std::vector<protocol::PlanRow> rows_of(const std::vector<Plan>& plans) {
  std::vector<protocol::PlanRow> rows;
  for (const Plan& plan : plans) rows.insert(rows.end(), plan.rows.begin(), plan.rows.end());
  return rows;
}

}  // namespace blindfl::nn
