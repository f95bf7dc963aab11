#include "blindfl/app/plan/job_layers.h"

#include <algorithm>
#include <cmath>

#include "blindfl/base/error.h"
#include "blindfl/he/registry/registry.h"
#include "blindfl/mpc/top_parts.h"
#include "blindfl/protocol/layers/shared_top_options.h"

namespace blindfl::app {

namespace {

using job::ModelKind;
using protocol::Update;

void check_features(const job::Model& model, const ShapesOfA& all_a, const PartyShape& b) {
  const std::string kind = job::Value<ModelKind>::write(model.kind);
  const PartyShape a = all_a.together();
  const bool has_fields = !a.fields.empty() || !b.fields.empty();
  if (has_embeddings(model.kind)) {
    require<ConfigError>(has_fields, "shared.model.kind: ", kind,
                         " needs categorical columns, and neither party has one; take lr, mlr, mlp or fm, or list "
                         "columns with kind: categorical");
    require<ConfigError>(
        model.kind != ModelKind::kDeepfm || a.numeric + b.numeric > 0, "shared.model.kind: ", kind,
        " needs numeric columns, or one_hot: true for some that are to interact, and neither party has "
        "one; take wdl");
    require<ConfigError>(model.kind != ModelKind::kDlrm || model.dlrm.vectors >= 2,
                         "shared.model.dlrm.vectors: there are no pairs of one vector; take 2 or more");
    return;
  }
  for (const PartyShape* shape : {&a, &b}) {
    require<ConfigError>(shape->fields.empty(), "shared.model.kind: ", kind, " has no embeddings, and ",
                         shape == &b       ? "B"
                         : all_a.several() ? "an A"
                                           : "A",
                         " has categorical columns; say one_hot: true for each of them, or take wdl");
  }
  require<ConfigError>(a.numeric + b.numeric > 0, "neither party has a feature; check private.data.columns");
}

std::size_t batches_of(std::size_t rows, std::size_t batch) {
  return (rows + batch - 1) / batch;
}

/// From what both parties know alike. Of a training that is settled.
protocol::RunLength run_of(const job::Training& training, std::size_t steps_per_epoch, const RowSplit& split,
                           std::size_t source_layers) {
  constexpr std::uint64_t kAllowance = 2;
  const std::size_t validation = batches_of(split.validation, training.batch);
  return {.passes = kAllowance * training.epochs.value() * (steps_per_epoch + validation),
          .layers = source_layers,
          .kept_rows = split.training};
}

/// Features, and categories of all fields.
std::size_t inputs_of(const PartyShape& shape) {
  std::size_t all = shape.numeric;
  for (const CategoryField& field : shape.fields) all += field.categories;
  return all;
}

protocol::SgdOptions sgd_of(const job::Training& training, std::size_t steps_per_epoch, double momentum) {
  protocol::SgdOptions sgd;
  sgd.learning_rate = training.learning_rate;
  sgd.momentum = momentum;
  sgd.weight_decay = training.weight_decay;
  const std::size_t epochs = training.epochs.value();
  sgd.steps = epochs * steps_per_epoch;
  sgd.schedule.reserve(training.schedule.size());
  for (const job::RateChange& change : training.schedule) {
    require<ConfigError>(change.epoch.value_or(0) <= epochs,
                         "shared.training.schedule: changes the learning rate in epoch ", change.epoch.value_or(0),
                         ", and there are only ", epochs, " for these rows; say shared.training.epochs");
    const std::size_t step = change.epoch ? (*change.epoch - 1) * steps_per_epoch : change.step.value_or(0);
    sgd.schedule.push_back({step, change.learning_rate});
  }
  return sgd;
}

/// Of a party's products: what the job says, or nothing where the planner is to choose.
std::optional<std::string> scheme_of(const job::Scheme& scheme, const std::optional<std::string>& said) {
  if (said) return session_name(*said);
  if (scheme.automatic) return std::nullopt;
  return session_name(scheme.default_scheme);
}

/// The same of a party's tables: what the job says of tables goes before what it says of the party's features.
std::optional<std::string> scheme_of_tables(const job::Scheme& scheme, const std::optional<std::string>& of_features) {
  if (scheme.tables == protocol::kByOt) return scheme.tables;
  return scheme_of(scheme, scheme.tables ? scheme.tables : of_features);
}

std::optional<Update> update_of(const job::Scheme& scheme) {
  return scheme.update || scheme.automatic ? scheme.update : Update::kExchanged;
}

/// The job's update is that of A's weights. B's tables are updated under encryption where that is left open, or where
/// their scheme is said to be one that can.
std::optional<Update> update_of_tables_b(const job::Scheme& scheme, const std::optional<std::string>& table_scheme) {
  if (scheme.update != Update::kEncrypted) return update_of(scheme);
  if (!table_scheme) return std::nullopt;
  if (*table_scheme == protocol::kByOt) return Update::kExchanged;
  return he::scheme_entry(*table_scheme).updates ? Update::kEncrypted : Update::kExchanged;
}

/// What both kinds of layers are told alike.
template <class Options>
Options common_options(const job::Shared& shared, const JobLayers& layers, const std::string& name) {
  Options options;
  options.name = name;
  options.top = shared.model.top;
  if (shared.model.shared_top()) options.output_room = protocol::kSharedOutputRoom;
  options.derivative = shared.training.derivative;
  options.output_scale = shared.model.output_scale;
  options.fine_outputs_reveal_features = shared.model.fine_outputs_reveal_features;
  options.initial_deviation = shared.model.initial_deviation.value_or(0.0);
  options.sgd = layers.sgd;
  options.run = layers.run;
  options.automatic = job_link(shared.scheme);
  options.most_memory = static_cast<std::uint64_t>(std::ldexp(shared.scheme.most_memory, 30));
  return options;
}

NumericLayer numeric_layer(const job::Shared& shared, const ShapesOfA& all_a, const PartyShape& b,
                           const JobLayers& layers, const std::string& name, std::size_t out) {
  NumericLayer layer;
  const std::size_t in_all = all_a.together().numeric;
  for (const PartyShape& a : all_a) {
    layer.shapes.push_back({.in_a = a.numeric,
                            .in_b = b.numeric,
                            .batch = shared.training.batch,
                            .features_a = a.encoding,
                            .features_b = b.encoding,
                            .nonzeros_a = a.nonzeros,
                            .nonzeros_b = b.nonzeros,
                            .peers = all_a.size(),
                            .in_others = in_all - a.numeric});
  }
  layer.out = out;
  layer.options = common_options<protocol::MatMulOptions>(shared, layers, name);
  layer.options.largest_weight = shared.model.largest_weight;
  layer.options.update = update_of(shared.scheme);
  layer.options.scheme_a = scheme_of(shared.scheme, shared.scheme.features_a).value_or("");
  layer.options.scheme_b = scheme_of(shared.scheme, shared.scheme.features_b).value_or("");
  return layer;
}

CategoryLayer category_layer(const job::Shared& shared, const ShapesOfA& all_a, const PartyShape& b,
                             const JobLayers& layers, const std::string& name, std::size_t out) {
  CategoryLayer layer;
  const std::size_t fields_all = all_a.together().fields.size();
  for (const PartyShape& a : all_a) {
    layer.shapes.push_back({.fields_a = a.fields,
                            .fields_b = b.fields,
                            .batch = shared.training.batch,
                            .dimension = shared.model.embedding_dim,
                            .peers = all_a.size(),
                            .fields_others = fields_all - a.fields.size()});
  }
  layer.out = out;
  layer.options = common_options<protocol::EmbedMatMulOptions>(shared, layers, name);
  // Derivatives of embeddings are products with the weights: what is roomy for numeric features would overflow there.
  layer.options.largest_weight = std::min(layer.options.largest_weight, shared.model.largest_weight);
  layer.options.scheme = scheme_of(shared.scheme, std::nullopt).value_or("");
  const auto scheme_a = scheme_of_tables(shared.scheme, shared.scheme.features_a);
  const auto scheme_b = scheme_of_tables(shared.scheme, shared.scheme.features_b);
  layer.options.tables_a = {.scheme = scheme_a, .update = update_of(shared.scheme)};
  layer.options.tables_b = {.scheme = scheme_b, .update = update_of_tables_b(shared.scheme, scheme_b)};
  return layer;
}

/// The widths of the source layers, and what the model calls them.
struct Source {
  std::string name;
  std::size_t out = 0;
};

Source numeric_source(const job::Model& model, std::size_t outputs) {
  switch (model.kind) {
    case ModelKind::kMlp:
      return {"source", model.hidden.front()};
    case ModelKind::kWdl:
      return {"wide", outputs};
    case ModelKind::kDlrm:
      return {"numeric", model.dlrm.bottom.front()};
    case ModelKind::kFm:
    case ModelKind::kDeepfm:
      return {"source", 1 + model.factors};
    default:
      return {"source", outputs};
  }
}

Source category_source(const job::Model& model) {
  if (model.kind != ModelKind::kDlrm) return {"deep", model.hidden.front()};
  return {"embedded", model.dlrm.vectors * model.embedding_dim};
}

std::size_t outputs_of(const job::Model& model) {
  const bool has_classes = is_classifier(model.kind) && (model.kind == ModelKind::kMlr || model.class_count() > 2);
  return has_classes ? model.class_count() : 1;
}

/// Widths of the layers that are hidden, of models that have some on shares.
std::vector<std::size_t> hidden_on_shares(const job::Model& model) {
  const bool has_some =
      model.kind == ModelKind::kMlp || model.kind == ModelKind::kWdl || model.kind == ModelKind::kDeepfm;
  return has_some ? model.hidden : std::vector<std::size_t>{};
}

/// Layers and functions of a shared top, which hide what passes through them as source layers do: all of them share
/// what the run may give away.
std::size_t shared_parts(const job::Model& model) {
  if (!model.shared_top()) return 0;
  constexpr std::size_t kFunctionsOfLoss = 3;  // at most
  return kFunctionsOfLoss + 2 * hidden_on_shares(model).size() + (has_factors(model.kind) ? 1 : 0);
}

SharedTopLayers top_layers(const job::Shared& shared, const JobLayers& layers) {
  SharedTopLayers top;
  top.shape = {.hidden = hidden_on_shares(shared.model),
               .factors = has_factors(shared.model.kind) ? shared.model.factors : 0,
               .outputs = layers.outputs,
               .activation = shared.model.activation,
               .family = family_of(shared.model)};
  top.options.batch = shared.training.batch;
  top.options.sgd = layers.sgd;
  top.options.run = layers.run;
  top.options.scheme = job::kFamilyWithSlots;
  top.options.row_weights = shared.training.row_weights;
  top.options.largest_weight = std::min(top.options.largest_weight, shared.model.largest_weight);
  const double needed = top.shape.factors > 0 ? mpc::largest_factor_derivative(top.options) : 0;
  require<ConfigError>(shared.training.derivative.largest >= needed,
                       "shared.training.derivative.largest: under a shared top nobody sees a derivative, "
                       "and those of a factorisation machine may be as large as ",
                       needed, "; take that at least");
  return top;
}

}  // namespace

he::Schemes job_schemes(const job::Scheme& scheme) {
  he::Schemes schemes;
  const std::vector<std::string> allowed = scheme.allowed_schemes();
  schemes.reserve(allowed.size());
  schemes.push_back(he::make_scheme(scheme.default_scheme));
  for (const std::string& name : allowed) {
    if (name != scheme.default_scheme) schemes.push_back(he::make_scheme(name));
  }
  return schemes;
}

std::string session_name(std::string_view scheme) {
  return std::string(he::scheme_entry(scheme).family);
}

protocol::Link job_link(const job::Scheme& scheme) {
  return {.bits_per_second = scheme.line_speed * 1e6, .round_trip = scheme.round_trip * 1e-3};
}

Family family_of(const job::Model& model) {
  if (is_classifier(model.kind)) {
    return model.class_count() > 2 || model.kind == ModelKind::kMlr ? Family::kMultinomial : Family::kLogistic;
  }
  return model.kind == ModelKind::kPoisson ? Family::kPoisson : Family::kLinear;
}

SourceWidths source_widths(const job::Model& model) {
  return {.numeric = numeric_source(model, outputs_of(model)).out,
          .categories = has_embeddings(model.kind) ? category_source(model).out : 0};
}

job::Shared settled(const job::Shared& shared, std::size_t rows, bool has_test_file) {
  // On tables of 300 to 1,000 rows and on FATE's breast cancer, a linear model is as good after 1000 steps of these
  // rates as a plain one that has converged: docs/appendix/benchmarks.md. Where 10 epochs are more than that,
  // they are enough.
  constexpr std::size_t kFewestSteps = 1000;
  constexpr double kTestShare = 0.1;
  job::Shared settled = shared;
  job::Training& all = settled.training;
  if (!all.test_share) all.test_share = has_test_file ? 0 : kTestShare;
  if (!all.epochs) {
    const std::size_t per_epoch = batches_of(split_of(all, rows).training, all.batch);
    all.epochs = std::max(kFewestEpochs, (kFewestSteps + per_epoch - 1) / per_epoch);
  }
  return settled;
}

double momentum_of(const job::Shared& shared, const ShapesOfA& a, const PartyShape& b) {
  constexpr double kMomentum = 0.9;
  constexpr std::size_t kMany = 32768;
  if (shared.training.momentum) return *shared.training.momentum;
  if (shared.scheme.update == Update::kEncrypted) return 0;
  const bool is_open = !shared.scheme.update && shared.scheme.automatic;
  std::size_t most = inputs_of(b);
  for (const PartyShape& each : a) most = std::max(most, inputs_of(each));
  return is_open && most > kMany ? 0 : kMomentum;
}

RowSplit split_of(const job::Training& training, std::size_t rows) {
  const auto share_of = [&](double share) { return static_cast<std::size_t>(static_cast<double>(rows) * share); };
  RowSplit split;
  split.test = std::min(share_of(training.test_share.value_or(0)), rows);
  split.validation = std::min(share_of(training.validation_share), rows - split.test);
  split.training = rows - split.test - split.validation;
  if (split.training == 0 && rows > 0) {
    --(split.test > 0 ? split.test : split.validation);
    split.training = 1;
  }
  return split;
}

JobLayers job_layers(const job::Shared& shared, const ShapesOfA& a, const PartyShape& b, std::size_t rows) {
  require<ConfigError>(rows > 0, "there are no rows to train on");
  require<ConfigError>(!a.several() || !shared.model.shared_top(),
                       "shared.model.top: a shared top is between B and one A; with several say open");
  check_features(shared.model, a, b);
  JobLayers layers;
  for (std::size_t i = 0; i < a.size(); ++i) layers.peers.push_back(a.name(i));
  layers.outputs = outputs_of(shared.model);
  const job::Training training = settled(shared, rows, false).training;
  const RowSplit split = split_of(training, rows);
  layers.training_rows = split.training;
  layers.steps_per_epoch = batches_of(layers.training_rows, training.batch);
  layers.epochs = training.epochs.value();
  layers.sgd = sgd_of(training, layers.steps_per_epoch, momentum_of(shared, a, b));
  const bool has_numeric = a.together().numeric + b.numeric > 0;
  const bool has_categories = has_embeddings(shared.model.kind);
  layers.run = run_of(training, layers.steps_per_epoch, split,
                      std::size_t{has_numeric} + std::size_t{has_categories} + shared_parts(shared.model));
  if (shared.model.shared_top()) layers.top = top_layers(shared, layers);
  if (has_numeric) {
    const Source source = numeric_source(shared.model, layers.outputs);
    layers.numeric = numeric_layer(shared, a, b, layers, source.name, source.out);
  }
  if (has_categories) {
    const Source source = category_source(shared.model);
    layers.categories = category_layer(shared, a, b, layers, source.name, source.out);
  }
  return layers;
}

}  // namespace blindfl::app
