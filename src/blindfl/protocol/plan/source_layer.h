#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "blindfl/protocol/plan/embed_planner.h"
#include "blindfl/protocol/plan/planner.h"

// What users say of a source layer, and the one way from there to what the layer is made of: modules are built by it,
// and what training will cost is told by it, before there is a session.

namespace blindfl::protocol {

/// What a user may say of a MatMul layer beside its shape.
struct MatMulOptions : MatMulLayerOptions {
  /// How A's weights learn: exchanged, unless said or chosen otherwise. Under encryption, what travels does not depend
  /// on the number of features.
  std::optional<Update> update{};
  /// `auto`: for this line between the parties, the planner chooses of the session's schemes and updates what of
  /// `scheme_a`, `scheme_b` and `update` is left open. Both parties must say the same.
  std::optional<Link> automatic{};
  /// For ciphertexts that stay with either party; with `automatic`, what needs more is refused.
  std::uint64_t most_memory = kMostMemory;
};

/// The public shape of both parties' categorical fields. Names need not be the same at the parties.
struct CategoryShape {
  std::vector<CategoryField> fields_a{};
  std::vector<CategoryField> fields_b{};
  std::size_t batch = 128;
  std::size_t dimension = 8;  ///< of an embedding
};

/// What a user may say of an Embed-MatMul layer beside its shape.
struct EmbedMatMulOptions : EmbedLayerOptions {
  /// How tables learn: exchanged, unless said or chosen otherwise. Under encryption, what travels does not depend on
  /// the number of categories.
  std::optional<Update> update{};
  std::string table_scheme{};  ///< for looking up in tables, and for their gradients; empty: the default
  /// For the tables of one party's fields, instead of `update` and `table_scheme`.
  std::optional<TableChoices> tables_a{};
  std::optional<TableChoices> tables_b{};
  /// `auto`: for this line between the parties, the planner chooses for each field what of schemes and updates is left
  /// open. Both parties must say the same.
  std::optional<Link> automatic{};
  /// For ciphertexts that stay with either party; with `automatic`, what needs more is refused.
  std::uint64_t most_memory = kMostMemory;
};

/// The layer as asked for. What is left open is chosen if `options` say so; if they do not, it is as MatMulSpec has it,
/// and there are no reasons. `schemes` are those of the session.
/// Throws as `plan_layer` does if it is to choose.
[[nodiscard]] LayerPlan plan_source(const FeatureShape& shape, std::size_t out, const MatMulOptions& options,
                                    const std::vector<const he::Scheme*>& schemes);

/// The same for categorical fields. Throws as `plan_embed` does if it is to choose.
[[nodiscard]] EmbedPlan plan_source(const CategoryShape& shape, std::size_t out, const EmbedMatMulOptions& options,
                                    const std::vector<const he::Scheme*>& schemes);

}  // namespace blindfl::protocol
