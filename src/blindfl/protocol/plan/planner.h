#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "blindfl/protocol/plan/layer_cost.h"
#include "blindfl/protocol/plan/plan_options.h"
#include "blindfl/protocol/plan/plan_row.h"
#include "blindfl/protocol/plan/source_options.h"

// `auto`: which scheme carries a layer's products, and how weights learn. Everything it looks at is public, so both
// parties make the same plan by themselves.

namespace blindfl::protocol {

/// What is not left to the planner. Public: both parties must say the same.
struct PlannerChoices {
  std::optional<std::string> scheme_a = std::nullopt;
  std::optional<std::string> scheme_b = std::nullopt;
  std::optional<Update> update = std::nullopt;
  std::optional<Update> update_b = std::nullopt;  ///< under a shared top
  /// For ciphertexts that stay with either party; what needs more is refused.
  std::uint64_t most_memory = kMostMemory;
};

/// One way to run a layer, and what it costs.
struct LayerOption : PlanOption {
  std::string scheme_a;  ///< empty if A has no features
  Update update = Update::kExchanged;
  std::string scheme_b;  ///< empty if B has none
  Update update_b = Update::kExchanged;
};

/// A layer with nothing left open, and what was weighed.
struct LayerPlan {
  MatMulSpec spec;                      ///< as wanted, with schemes and updates filled in
  std::vector<LayerOption> considered;  ///< all that the choices leave open, possible or not
  std::vector<PlanRow> rows;            ///< what was chosen for each party's features, and what else there is
};

/// The option that takes the least time over all steps; the lattice if two take the same. What `wanted` says of schemes
/// and update is not looked at, and stays as it is for a party without features. `schemes` are those of the session.
/// Throws InvalidArgument if the layer is not possible in any way (see MatMulParams), or for a link without speed;
/// ConfigError, with the reason, if `choices` name a scheme that there is not or leave no option that is possible.
[[nodiscard]] LayerPlan plan_layer(const MatMulSpec& wanted, const PlannerChoices& choices,
                                   const std::vector<const he::Scheme*>& schemes, const Link& link);

}  // namespace blindfl::protocol
