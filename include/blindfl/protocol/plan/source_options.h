#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "blindfl/protocol/layers/layer_options.h"
#include "blindfl/protocol/layers/update.h"
#include "blindfl/protocol/plan/step_cost.h"
#include "blindfl/protocol/session/place.h"
#include "blindfl/tensor/category_field.h"

// What users say of source layers.

namespace blindfl::protocol {

/// Of ciphertexts that stay with a party: 16 GiB.
constexpr std::uint64_t kMostMemory = std::uint64_t{16} << 30;

/// What is not left to the planner of a table, or of all tables.
struct TableChoices {
  std::optional<std::string> scheme = std::nullopt;
  std::optional<Update> update = std::nullopt;
};

/// What a user may say of a MatMul layer beside its shape.
struct MatMulOptions : MatMulLayerOptions {
  /// How A's weights learn: exchanged, unless said or chosen otherwise. Under encryption, what travels does not depend
  /// on the number of features.
  std::optional<Update> update{};
  /// The same for B's weights, under a shared top.
  std::optional<Update> update_b{};
  /// `auto`: for this line between the parties, the planner chooses of the session's schemes and updates what of
  /// `scheme_a`, `scheme_b` and both updates is left open. Both parties must say the same.
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
  /// Where B has several A's, and this is what one of them and B have: how many, and the fields of the other A's.
  std::size_t peers = 1;
  std::size_t fields_others = 0;
};

// What the layer with the A at that place takes of the shape of its pair. With one A: all of it.

[[nodiscard]] FeatureShape shape_for_pair(FeatureShape shape, const Place& place);
/// B's fields are in the layer with the first A alone: to the layers with others they are fields of others.
[[nodiscard]] CategoryShape shape_for_pair(CategoryShape shape, const Place& place);

/// What a user may say of an Embed-MatMul layer beside its shape.
struct EmbedMatMulOptions : EmbedLayerOptions {
  /// How tables learn: exchanged, unless said or chosen otherwise. Under encryption, what travels does not depend on
  /// the number of categories.
  std::optional<Update> update{};
  /// For looking up in tables, and for their gradients: one of the session's, or `kByOt`; empty: the default.
  std::string table_scheme{};
  /// For the tables of one party's fields, instead of `update` and `table_scheme`.
  std::optional<TableChoices> tables_a{};
  std::optional<TableChoices> tables_b{};
  /// `auto`: for this line between the parties, the planner chooses for each field what of schemes and updates is left
  /// open. Both parties must say the same.
  std::optional<Link> automatic{};
  /// For ciphertexts that stay with either party; with `automatic`, what needs more is refused.
  std::uint64_t most_memory = kMostMemory;
};

}  // namespace blindfl::protocol
