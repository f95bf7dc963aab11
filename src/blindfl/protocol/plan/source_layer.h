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

/// The public shape of both parties' features.
struct FeatureShape {
  std::size_t in_a = 0;
  std::size_t in_b = 0;
  std::size_t batch = 128;
  FixedPointSpec features_a{};
  FixedPointSpec features_b{};
  /// The most features of a row that are not 0; 0: all of them.
  std::size_t nonzeros_a = 0;
  std::size_t nonzeros_b = 0;
};

struct MatMulOptions {
  std::string name = "matmul";
  FixedPointSpec derivative = MatMulSpec{}.derivative;
  double largest_weight = MatMulSpec{}.largest_weight;
  int output_scale = MatMulSpec{}.output_scale;
  /// Allows an output_scale above 20. It gives A's features away to B: from a finer Z they follow by lattice reduction.
  bool fine_outputs_reveal_features = false;
  double initial_deviation = 0.0;  ///< 0: as torch's Linear
  /// How A's weights learn: exchanged, unless said or chosen otherwise. Under encryption, what travels does not depend
  /// on the number of features; `sgd` must then be what the optimizer gets, with the number of steps.
  std::optional<Update> update{};
  SgdOptions sgd{};
  /// How much the run will hide in all, which sizes masks: forward passes, those of scoring included.
  RunLength run{};
  std::string scheme_a{};  ///< of the session's schemes, for products with A's features; empty: the default
  std::string scheme_b{};  ///< for products with B's features
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

struct EmbedMatMulOptions {
  std::string name = "embed";
  FixedPointSpec derivative = EmbedMatMulSpec{}.derivative;
  double largest_weight = EmbedMatMulSpec{}.largest_weight;
  double largest_embedding = EmbedMatMulSpec{}.largest_embedding;
  int output_scale = EmbedMatMulSpec{}.output_scale;
  /// Allows an output_scale above 20: see MatMulOptions.
  bool fine_outputs_reveal_features = false;
  double initial_deviation = 0.0;  ///< of the weights; 0: as torch's Linear
  double table_deviation = EmbedMatMulSpec{}.table_deviation;
  /// How tables learn: exchanged, unless said or chosen otherwise. Under encryption, what travels does not depend on
  /// the number of categories; `sgd` must then be what the optimizer gets, with the number of steps.
  std::optional<Update> update{};
  SgdOptions sgd{};
  /// How much the run will hide in all, which sizes masks: forward passes, those of scoring included.
  RunLength run{};
  std::string scheme{};        ///< of the session's schemes, for products with the weights; empty: the default
  std::string table_scheme{};  ///< for looking up in tables, and for their gradients
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
