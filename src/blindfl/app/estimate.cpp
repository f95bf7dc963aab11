#include "blindfl/app/estimate.h"

#include <algorithm>
#include <set>

#include "blindfl/app/job_layers.h"
#include "blindfl/base/error.h"
#include "blindfl/protocol/plan_words.h"

namespace blindfl::app {

namespace {

using protocol::LayerCost;
using protocol::Party;
using protocol::StepCost;

constexpr std::uint64_t kShareBytes = 16;

/// Planned layers by the schemes that they use.
class Estimator {
 public:
  Estimator(const std::vector<const he::Scheme*>& schemes, const MachineSpeed& speed, JobEstimate& estimate)
      : schemes_(schemes), speed_(speed), estimate_(estimate) {}

  void add(const NumericLayer& layer) {
    const protocol::LayerPlan plan = plan_source(layer.shape, layer.out, layer.options, schemes_);
    const protocol::MatMulParams params(plan.spec);
    LayerCost cost;
    std::string words;
    for (const Party party : {Party::kA, Party::kB}) {
      if (params.in(party) == 0) continue;
      const he::Scheme& scheme = use(params.scheme(party));
      cost += scaled(cost_of(params, party, scheme), scheme);
      const std::string way =
          party == Party::kA ? protocol::way_in_words(plan.spec.update, scheme.name()) : over(scheme.name());
      protocol::append(words, "; ", protocol::whose(party) + " features " + way);
    }
    add_layer({plan.spec.name, words, plan.why, cost}, plan.spec.batch, plan.spec.out,
              (plan.spec.in_a + plan.spec.in_b) * plan.spec.out, plan.spec.sgd);
  }

  void add(const CategoryLayer& layer) {
    const protocol::EmbedPlan plan = plan_source(layer.shape, layer.out, layer.options, schemes_);
    const protocol::EmbedMatMulParams params(plan.spec);
    const he::Scheme& weights = use(plan.spec.scheme);
    LayerCost cost = scaled(cost_of_weights(params, weights), weights);
    std::string words = "the weights " + over(weights.name());
    std::size_t values = params.inputs() * plan.spec.out;
    for (const Party party : {Party::kA, Party::kB}) {
      for (const protocol::EmbedField& field : params.fields(party)) {
        const he::Scheme& scheme = use(field.scheme);
        cost += scaled(cost_of_field(params, party, field, scheme), scheme);
        values += field.field.categories * plan.spec.dimension;
      }
      append_fields(words, party, params.fields(party));
    }
    add_layer({plan.spec.name, words, plan.why, cost}, plan.spec.batch, plan.spec.out, values, plan.spec.sgd);
  }

 private:
  static std::string over(std::string_view scheme) { return std::string("over ").append(scheme); }

  /// Those that learn alike are counted together, in the order of the first.
  static void append_fields(std::string& words, Party party, const std::vector<protocol::EmbedField>& fields) {
    std::vector<std::pair<std::string, std::size_t>> ways;
    for (const protocol::EmbedField& field : fields) {
      const std::string way = protocol::way_in_words(field.update, field.scheme);
      const auto found = std::ranges::find(ways, way, &std::pair<std::string, std::size_t>::first);
      if (found == ways.end()) {
        ways.emplace_back(way, 1);
      } else {
        ++found->second;
      }
    }
    for (const auto& [way, count] : ways) {
      protocol::append(words, "; ", std::to_string(count) + " of " + protocol::whose(party) + " tables " + way);
    }
  }

  const he::Scheme& use(const std::string& name) {
    const auto found = std::ranges::find(schemes_, name, [](const he::Scheme* scheme) { return scheme->name(); });
    require<ConfigError>(found != schemes_.end(), "there is no scheme '", name, "' in shared.scheme.allowed");
    if (used_.insert(name).second) {
      estimate_.setup.bytes_to_a += (*found)->public_key_bytes();
      estimate_.setup.bytes_to_b += (*found)->public_key_bytes();
    }
    return **found;
  }

  [[nodiscard]] LayerCost scaled(LayerCost cost, const he::Scheme& scheme) const {
    const double factor = speed_.factor(scheme.name());
    for (StepCost* each : {&cost.setup, &cost.step}) {
      each->seconds_a *= factor;
      each->seconds_b *= factor;
    }
    return cost;
  }

  void add_layer(LayerEstimate layer, std::size_t batch, std::size_t out, std::size_t values,
                 const protocol::SgdOptions& sgd) {
    // Z goes the way of the product's reply and right after it: no round trip of its own.
    layer.cost.step.bytes_to_b += std::uint64_t{batch} * out * sizeof(std::uint64_t);
    const std::uint64_t shares = std::uint64_t{values} * kShareBytes * (sgd.momentum > 0 ? 3 : 2);
    estimate_.memory_a += layer.cost.memory_a + shares;
    estimate_.memory_b += layer.cost.memory_b + shares;
    estimate_.per_step += layer.cost.step;
    estimate_.setup += layer.cost.setup;
    estimate_.layers.push_back(std::move(layer));
  }

  const std::vector<const he::Scheme*>& schemes_;
  const MachineSpeed& speed_;
  JobEstimate& estimate_;
  std::set<std::string> used_;
};

}  // namespace

JobEstimate estimate(const job::Shared& shared, const PartyShape& a, const PartyShape& b, std::size_t rows,
                     const protocol::Link& link, const MachineSpeed& speed) {
  require<InvalidArgument>(link.bits_per_second > 0 && link.round_trip >= 0, "a link needs a speed");
  const JobLayers layers = job_layers(shared, a, b, rows);
  const auto owned = job_schemes(shared.scheme);
  const auto schemes = pointers_to(owned);
  JobEstimate all;
  all.rows = layers.training_rows;
  all.steps_per_epoch = layers.steps_per_epoch;
  all.epochs = layers.epochs;
  all.link = link;
  all.speed = speed;
  Estimator estimator(schemes, speed, all);
  if (layers.numeric) estimator.add(*layers.numeric);
  if (layers.categories) estimator.add(*layers.categories);

  all.seconds_per_epoch = all.per_step.seconds(link) * static_cast<double>(all.steps_per_epoch);
  all.bytes_to_a_per_epoch = all.per_step.bytes_to_a * all.steps_per_epoch;
  all.bytes_to_b_per_epoch = all.per_step.bytes_to_b * all.steps_per_epoch;
  all.seconds = all.setup.seconds(link) + all.seconds_per_epoch * static_cast<double>(all.epochs);
  all.bytes_to_a = all.setup.bytes_to_a + all.bytes_to_a_per_epoch * all.epochs;
  all.bytes_to_b = all.setup.bytes_to_b + all.bytes_to_b_per_epoch * all.epochs;
  return all;
}

}  // namespace blindfl::app
