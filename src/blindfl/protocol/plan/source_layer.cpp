#include "blindfl/protocol/plan/source_layer.h"

namespace blindfl::protocol {

namespace {

/// The layers with all A's share what the run may give away: of B's features, to A's who put together what they have.
RunLength run_of(RunLength run, std::size_t peers) {
  run.layers *= peers;
  return run;
}

MatMulSpec spec_of(const FeatureShape& shape, std::size_t out, const MatMulOptions& options) {
  MatMulLayerOptions of_layer = options;
  of_layer.run = run_of(options.run, shape.peers);
  return {shape, of_layer, out, options.update.value_or(Update::kExchanged),
          options.update_b.value_or(Update::kExchanged)};
}

/// What is said of all tables.
TableChoices tables_of(const EmbedMatMulOptions& options) {
  TableChoices tables;
  if (!options.table_scheme.empty()) tables.scheme = options.table_scheme;
  tables.update = options.update;
  return tables;
}

std::vector<EmbedField> fields_of(const std::vector<CategoryField>& fields, const TableChoices& tables) {
  std::vector<EmbedField> all;
  all.reserve(fields.size());
  for (const CategoryField& field : fields) {
    all.push_back({field, tables.update.value_or(Update::kExchanged), tables.scheme.value_or("")});
  }
  return all;
}

EmbedMatMulSpec spec_of(const CategoryShape& shape, std::size_t out, const EmbedMatMulOptions& options) {
  const TableChoices tables = tables_of(options);
  EmbedLayerOptions of_layer = options;
  of_layer.run = run_of(options.run, shape.peers);
  return {of_layer,
          fields_of(shape.fields_a, options.tables_a.value_or(tables)),
          fields_of(shape.fields_b, options.tables_b.value_or(tables)),
          shape.dimension,
          out,
          shape.batch,
          shape.peers,
          shape.fields_others};
}

}  // namespace

FeatureShape shape_for_pair(FeatureShape shape, const Place& place) {
  shape.peers = place.of;
  return shape;
}

CategoryShape shape_for_pair(CategoryShape shape, const Place& place) {
  shape.peers = place.of;
  if (place.index > 0) {
    shape.fields_others += shape.fields_b.size();
    shape.fields_b.clear();
  }
  return shape;
}

LayerPlan plan_source(const FeatureShape& shape, std::size_t out, const MatMulOptions& options,
                      const std::vector<const he::Scheme*>& schemes) {
  const MatMulSpec spec = spec_of(shape, out, options);
  if (!options.automatic) return {spec, {}, {}};
  PlannerChoices choices;
  if (!options.scheme_a.empty()) choices.scheme_a = options.scheme_a;
  if (!options.scheme_b.empty()) choices.scheme_b = options.scheme_b;
  choices.update = options.update;
  choices.update_b = options.update_b;
  choices.most_memory = options.most_memory;
  return plan_layer(spec, choices, schemes, *options.automatic);
}

EmbedPlan plan_source(const CategoryShape& shape, std::size_t out, const EmbedMatMulOptions& options,
                      const std::vector<const he::Scheme*>& schemes) {
  const EmbedMatMulSpec spec = spec_of(shape, out, options);
  if (!options.automatic) return {spec, {}, {}, {}};
  EmbedChoices choices;
  if (!options.scheme.empty()) choices.scheme = options.scheme;
  choices.tables = tables_of(options);
  choices.tables_a = options.tables_a.value_or(TableChoices{});
  choices.tables_b = options.tables_b.value_or(TableChoices{});
  choices.most_memory = options.most_memory;
  return plan_embed(spec, choices, schemes, *options.automatic);
}

}  // namespace blindfl::protocol
