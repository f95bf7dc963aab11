#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "blindfl/protocol/plan/embed_cost.h"
#include "blindfl/protocol/plan/plan_options.h"
#include "blindfl/protocol/plan/plan_row.h"
#include "blindfl/protocol/plan/source_options.h"

// `auto` for categorical fields: which scheme carries the products with the weights, and, field by field, which scheme
// and which update its table has. Everything it looks at is public, so both parties make the same plan by themselves.

namespace blindfl::protocol {

/// What is not left to the planner. Public: both parties must say the same.
struct EmbedChoices {
  std::optional<std::string> scheme = std::nullopt;  ///< for the products with the weights
  TableChoices tables{};                             ///< for all fields
  TableChoices tables_a{};                           ///< for A's; what they say goes before what `tables` says
  TableChoices tables_b{};                           ///< for B's
  /// For ciphertexts that stay with either party, of the whole layer; what needs more is refused.
  std::uint64_t most_memory = kMostMemory;
};

/// One way to run a field's table, or the products with the weights, and what it costs.
struct EmbedOption : PlanOption {
  std::string scheme;
  Update update = Update::kExchanged;  ///< weights are always exchanged
  std::size_t calls = 0;               ///< by oblivious transfer: those that take the least time on this link
};

/// Which field.
struct FieldIndex {
  Party party = Party::kA;
  std::size_t index = 0;
};

/// What is decided by itself: a field's table, or the products with the weights.
struct EmbedPart {
  std::optional<FieldIndex> field{};   ///< none: the weights
  bool asked = false;                  ///< whether a choice fixed some of it
  std::vector<EmbedOption> options{};  ///< all that the choices leave open, possible or not
  std::size_t chosen = 0;

  [[nodiscard]] const EmbedOption& taken() const { return options[chosen]; }
};

/// A layer with nothing left open, and what was weighed.
struct EmbedPlan {
  EmbedMatMulSpec spec;               ///< as wanted, with `scheme` and each field's `scheme` and `update` filled in
  std::vector<EmbedPart> considered;  ///< the weights, A's fields, B's fields
  LayerCost cost;                     ///< of all that was chosen
  std::vector<PlanRow> rows;          ///< A's fields, B's, the weights; fields that are alike share rows

  [[nodiscard]] const EmbedPart& weights() const { return considered.front(); }
  [[nodiscard]] const EmbedPart& field(Party party, std::size_t index) const {
    return considered[1 + (party == Party::kA ? 0 : spec.fields_a.size()) + index];
  }
};

/// For the weights and for each field the option that takes the least time over all steps; the first of oblivious
/// transfer, the lattice and others if two take the same. Where all of them together take more memory than is allowed,
/// those give way that lose the least time by it. What `wanted` says of schemes and updates is not looked at. `schemes`
/// are those of the session. Throws InvalidArgument if the layer is not possible in any way (see EmbedMatMulParams), or
/// for a link without speed; ConfigError, with the layer, the fields and the reason, if `choices` name a scheme that
/// there is not or leave no option that is possible.
[[nodiscard]] EmbedPlan plan_embed(const EmbedMatMulSpec& wanted, const EmbedChoices& choices,
                                   const std::vector<const he::Scheme*>& schemes, const Link& link);

}  // namespace blindfl::protocol
