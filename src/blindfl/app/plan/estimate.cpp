#include "blindfl/app/plan/estimate.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "blindfl/app/plan/plan_text.h"
#include "blindfl/base/error.h"
#include "blindfl/mpc/top_plan.h"
#include "blindfl/protocol/layers/keep_options.h"

namespace blindfl::app {

namespace {

using protocol::LayerCost;
using protocol::Party;
using protocol::StepCost;

constexpr std::uint64_t kShareBytes = 16;

/// Planned layers by the schemes that they use.
class Estimator {
 public:
  /// Of the layers of the A at `place` with B.
  Estimator(const std::vector<const he::Scheme*>& schemes, const MachineSpeed& speed, protocol::Place place,
            JobEstimate& estimate)
      : schemes_(schemes), speed_(speed), place_(place), estimate_(estimate) {}

  void add(const NumericLayer& layer) {
    const protocol::FeatureShape shape = shape_for_pair(layer.shapes.at(place_.index), place_);
    if (shape.in_a + shape.in_b == 0) return add_opening(shape.batch, layer.out);
    const protocol::LayerPlan plan = plan_source(shape, layer.out, layer.options, schemes_);
    const protocol::MatMulParams params(plan.spec);
    LayerCost cost;
    for (const Party party : {Party::kA, Party::kB}) {
      if (params.in(party) == 0) continue;
      const he::Scheme& scheme = use(params.scheme(party));
      cost += scaled(cost_of(params, party, scheme), scheme);
    }
    if (keeps_products(params)) {
      const std::uint64_t kept =
          std::min(std::uint64_t{plan.spec.run.kept_rows} * plan.spec.out * kShareBytes, protocol::kMostKeptMemory);
      estimate_.memory_a += kept;
      estimate_.memory_b += kept;
    }
    add_layer({plan.spec.name, choice_text(plan.rows), scaled(plan.rows), cost}, plan.spec.batch, plan.spec.out,
              (plan.spec.in_a + plan.spec.in_b) * plan.spec.out, plan.spec.sgd);
  }

  void add(const CategoryLayer& layer) {
    const protocol::CategoryShape shape = shape_for_pair(layer.shapes.at(place_.index), place_);
    if (shape.fields_a.empty() && shape.fields_b.empty()) return add_opening(shape.batch, layer.out);
    const protocol::EmbedPlan plan = plan_source(shape, layer.out, layer.options, schemes_);
    const protocol::EmbedMatMulParams params(plan.spec);
    const he::Scheme& weights = use(plan.spec.scheme);
    LayerCost cost = scaled(cost_of_weights(params, weights), weights);
    std::size_t values = params.inputs() * plan.spec.out;
    for (const Party party : {Party::kA, Party::kB}) {
      for (const protocol::EmbedField& field : params.fields(party)) {
        values += field.field.categories * plan.spec.dimension;
        if (field.by_ot()) {
          cost += cost_of_ot_field(params, party, field);
          continue;
        }
        const he::Scheme& scheme = use(field.scheme);
        cost += scaled(cost_of_field(params, party, field, scheme), scheme);
      }
    }
    add_layer({plan.spec.name, choice_text(plan.rows), scaled(plan.rows), cost}, plan.spec.batch, plan.spec.out, values,
              plan.spec.sgd);
  }

  void add(const SharedTopLayers& top, std::size_t steps_per_epoch) {
    const he::Scheme& scheme = use(top.options.scheme);
    const mpc::TopPlan plan = plan_of_top(scheme, top);
    const LayerCost cost = scaled(cost_of_top(plan, top, scheme, steps_per_epoch), scheme);
    protocol::TopPart part{
        .widths = top.shape.hidden, .activation = top.shape.activation, .factors = top.shape.factors};
    part.widths.push_back(top.shape.outputs);
    protocol::PlanRow row{.layer = "top", .part = std::move(part), .scheme = top.options.scheme};
    row.step = cost.step;
    row.chosen = true;
    const std::vector<protocol::PlanRow> rows{row};
    add_layer({row.layer, choice_text(rows), rows, cost}, top.options.batch, top.shape.outputs, plan.weights(),
              top.options.sgd);
  }

 private:
  static mpc::TopPlan plan_of_top(const he::Scheme& scheme, const SharedTopLayers& top) {
    try {
      return {scheme, top.shape, top.options};
    } catch (const InvalidArgument& error) {
      fail<ConfigError>(
          "shared.model.top: a shared top cannot be hidden for so long a run. Take fewer epochs, fewer or "
          "narrower hidden layers (shared.model.hidden), or shared.model.top: open, which A must accept. "
          "What does not fit: ",
          error.what());
    }
  }

  static LayerCost cost_of_top(const mpc::TopPlan& plan, const SharedTopLayers& top, const he::Scheme& scheme,
                               std::size_t steps_per_epoch) {
    const mpc::TopCost mean = plan.mean_step(steps_per_epoch);
    LayerCost cost;
    cost.step = {.seconds_a = mean.seconds_a,
                 .seconds_b = mean.seconds_b,
                 .bytes_to_a = static_cast<std::uint64_t>(std::llround(mean.bytes_to_a)),
                 .bytes_to_b = static_cast<std::uint64_t>(std::llround(mean.bytes_to_b)),
                 .rounds = static_cast<int>(std::lround(mean.flights / 2)),
                 .together = mean.together};
    if (mean.random_ots) {
      const std::uint64_t bytes = protocol::OtPools::setup_bytes();
      cost.setup = {.seconds_a = mpc::kOtSetupSeconds,
                    .seconds_b = mpc::kOtSetupSeconds,
                    .bytes_to_a = bytes,
                    .bytes_to_b = bytes,
                    .rounds = 1,
                    .together = mpc::kOtSetupSeconds};
    }
    cost.exposure = static_cast<double>(protocol::counted_passes(top.options.run, top.options.sgd)) * mean.exposure;
    cost.memory_a = cost.memory_b = plan.memory();
    for (const he::Plan* product : plan.products()) cost.take_keys(scheme, *product);
    return cost;
  }

  const he::Scheme& use(const std::string& name) {
    const auto found = std::ranges::find(schemes_, name, [](const he::Scheme* scheme) { return scheme->name(); });
    require<ConfigError>(found != schemes_.end(), "there is no scheme '", name, "' in shared.scheme.allowed");
    if (used_.insert(name).second) {
      estimate_.schemes.push_back({name, (*found)->security_bits()});
      // Those of a scheme with several sets are its layers' to say.
      if (const std::vector<std::string> sets = (*found)->key_sets(); sets.size() == 1) {
        add_key((*found)->public_key_bytes(sets.front()));
      }
    }
    return **found;
  }

  void add_key(std::uint64_t bytes) {
    estimate_.setup.bytes_to_a += bytes;
    estimate_.setup.bytes_to_b += bytes;
  }

  [[nodiscard]] LayerCost scaled(LayerCost cost, const he::Scheme& scheme) const {
    const double factor = speed_.factor(scheme.name());
    for (StepCost* each : {&cost.setup, &cost.step}) {
      each->seconds_a *= factor;
      each->seconds_b *= factor;
      each->together *= factor;
    }
    return cost;
  }

  [[nodiscard]] std::vector<protocol::PlanRow> scaled(std::vector<protocol::PlanRow> rows) const {
    for (protocol::PlanRow& row : rows) {
      const double factor = speed_.factor(row.scheme);
      row.step.seconds_a *= factor;
      row.step.seconds_b *= factor;
    }
    return rows;
  }

  /// Who has nothing in a layer has a share of its output all the same.
  void add_opening(std::size_t batch, std::size_t out) {
    estimate_.per_step.bytes_to_b += std::uint64_t{batch} * out * sizeof(std::uint64_t);
  }

  void add_layer(LayerEstimate layer, std::size_t batch, std::size_t out, std::size_t values,
                 const protocol::SgdOptions& sgd) {
    // Z goes the way of the product's reply and right after it: no round trip of its own.
    if (!estimate_.shared_top) layer.cost.step.bytes_to_b += std::uint64_t{batch} * out * sizeof(std::uint64_t);
    const std::uint64_t shares = std::uint64_t{values} * kShareBytes * (sgd.momentum > 0 ? 3 : 2);
    estimate_.memory_a += layer.cost.memory_a + shares;
    estimate_.memory_b += layer.cost.memory_b + shares;
    estimate_.per_step += layer.cost.step;
    estimate_.setup += layer.cost.setup;
    estimate_.exposure += layer.cost.exposure;
    for (const auto& [name, bytes] : layer.cost.keys) {
      if (used_.insert(name).second) add_key(bytes);
    }
    estimate_.layers.push_back(std::move(layer));
  }

  const std::vector<const he::Scheme*>& schemes_;
  const MachineSpeed& speed_;
  protocol::Place place_;
  JobEstimate& estimate_;
  std::set<std::string> used_;  ///< schemes, and keys of theirs
};

/// A layer with one of several A's, by its name.
void name_pair(LayerEstimate& layer, const std::string& name) {
  layer.name += " with " + name;
  layer.pair = name;
  for (protocol::PlanRow& row : layer.rows) row.layer = layer.name;
}

/// What B does with all A's at the same time.
StepCost at_the_same_time(const std::vector<StepCost>& pairs) {
  if (pairs.size() == 1) return pairs.front();
  StepCost all;
  double slowest = 0;
  for (const StepCost& pair : pairs) {
    all.seconds_a = std::max(all.seconds_a, pair.seconds_a);
    all.seconds_b += pair.seconds_b;
    all.bytes_to_a += pair.bytes_to_a;
    all.bytes_to_b += pair.bytes_to_b;
    all.rounds = std::max(all.rounds, pair.rounds);
    slowest = std::max(slowest, pair.seconds_a + pair.seconds_b - pair.together);
  }
  // While one A computes B computes for another: it takes as long as the slowest pair, or as B's work for all.
  all.together = all.seconds_a + all.seconds_b - std::max(slowest, all.seconds_b);
  return all;
}

/// Puts the estimates of all pairs together.
void take_pairs(std::vector<JobEstimate>& pairs, const std::vector<std::string>& names, JobEstimate& all) {
  std::vector<StepCost> setups;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    JobEstimate& pair = pairs[i];
    for (LayerEstimate& layer : pair.layers) {
      if (pairs.size() > 1) name_pair(layer, names[i]);
      all.layers.push_back(std::move(layer));
    }
    for (const UsedScheme& scheme : pair.schemes) {
      if (std::ranges::find(all.schemes, scheme.name, &UsedScheme::name) == all.schemes.end()) {
        all.schemes.push_back(scheme);
      }
    }
    all.per_pair.push_back(pair.per_step);
    setups.push_back(pair.setup);
    all.exposure += pair.exposure;
    all.memory_a = std::max(all.memory_a, pair.memory_a);
    all.memory_b += pair.memory_b;
  }
  all.per_step = at_the_same_time(all.per_pair);
  all.setup = at_the_same_time(setups);
}

/// A party's features with a column for each category in place of fields.
PartyShape one_hot_shape(PartyShape shape) {
  // Those of a row that are not 0: where it is not said how many, all may be.
  std::size_t nonzeros = shape.nonzeros > 0 ? shape.nonzeros : shape.numeric;
  for (const CategoryField& field : shape.fields) {
    shape.numeric += field.categories;
    nonzeros += std::min(field.most, field.categories);
  }
  shape.nonzeros = nonzeros;
  shape.fields.clear();
  return shape;
}

ShapesOfA one_hot_shapes(const ShapesOfA& shapes) {
  std::vector<PartyShape> all;
  for (const PartyShape& shape : shapes) all.push_back(one_hot_shape(shape));
  return ShapesOfA(std::move(all), shapes.names());
}

/// Models for one-hot columns, the nearest to embeddings first.
std::vector<job::ModelKind> one_hot_kinds(const job::Model& model) {
  std::vector<job::ModelKind> kinds;
  if (!model.hidden.empty()) kinds.push_back(job::ModelKind::kMlp);
  kinds.push_back(model.class_count() > 2 ? job::ModelKind::kMlr : job::ModelKind::kLr);
  return kinds;
}

}  // namespace

std::vector<OneHotEstimate> cheaper_one_hot(const job::Shared& shared, const ShapesOfA& a, const PartyShape& b,
                                            std::size_t rows, const protocol::Link& link, const MachineSpeed& speed) {
  // Times may be off by half.
  constexpr double kClearly = 1.5;
  std::vector<OneHotEstimate> cheaper;
  if (!job::has_embeddings(shared.model.kind)) return cheaper;
  const JobEstimate embedded = estimate(shared, a, b, rows, link, speed);
  for (const job::ModelKind kind : one_hot_kinds(shared.model)) {
    OneHotEstimate other{.kind = kind};
    job::Shared changed = shared;
    changed.model.kind = kind;
    try {
      other.estimate = estimate(changed, one_hot_shapes(a), one_hot_shape(b), rows, link, speed);
    } catch (const Error&) {  // such as too many columns: then this is no other way
      continue;
    }
    const bool less_time = other.estimate.seconds * kClearly < embedded.seconds;
    // In all: products that are kept come before the first step.
    const auto bytes = [](const JobEstimate& of) { return of.bytes_to_a + of.bytes_to_b; };
    if (less_time && bytes(other.estimate) < bytes(embedded)) cheaper.push_back(std::move(other));
  }
  return cheaper;
}

JobEstimate estimate(const job::Shared& shared, const ShapesOfA& a, const PartyShape& b, std::size_t rows,
                     const protocol::Link& link, const MachineSpeed& speed) {
  return estimate(job_layers(shared, a, b, rows), shared.scheme, link, speed);
}

JobEstimate estimate(const JobLayers& layers, const job::Scheme& scheme, const protocol::Link& link,
                     const MachineSpeed& speed) {
  require<InvalidArgument>(link.bits_per_second > 0 && link.round_trip >= 0, "a link needs a speed");
  const auto owned = job_schemes(scheme);
  const auto schemes = pointers_to(owned);
  JobEstimate all;
  all.shared_top = layers.top.has_value();
  all.rows = layers.training_rows;
  all.steps_per_epoch = layers.steps_per_epoch;
  all.epochs = layers.epochs;
  all.link = link;
  all.speed = speed;
  std::vector<JobEstimate> pairs;
  for (std::size_t i = 0; i < layers.peers.size(); ++i) {
    JobEstimate& pair = pairs.emplace_back(all);
    Estimator estimator(schemes, speed, {.index = i, .of = layers.peers.size()}, pair);
    if (layers.numeric) estimator.add(*layers.numeric);
    if (layers.categories) estimator.add(*layers.categories);
    if (layers.top) estimator.add(*layers.top, layers.steps_per_epoch);
  }
  take_pairs(pairs, layers.peers, all);

  all.seconds_per_epoch = all.per_step.seconds(link) * static_cast<double>(all.steps_per_epoch);
  all.bytes_to_a_per_epoch = all.per_step.bytes_to_a * all.steps_per_epoch;
  all.bytes_to_b_per_epoch = all.per_step.bytes_to_b * all.steps_per_epoch;
  all.seconds = all.setup.seconds(link) + all.seconds_per_epoch * static_cast<double>(all.epochs);
  all.bytes_to_a = all.setup.bytes_to_a + all.bytes_to_a_per_epoch * all.epochs;
  all.bytes_to_b = all.setup.bytes_to_b + all.bytes_to_b_per_epoch * all.epochs;
  return all;
}

}  // namespace blindfl::app
