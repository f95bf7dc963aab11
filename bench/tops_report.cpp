#include "tops_report.h"

#include <torch/torch.h>

#include <array>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "blindfl/blindfl.h"
#include "blindfl/he/registry/registry.h"
#include "blindfl/lab/two_party_training.h"
#include "blindfl/mpc/top_plan.h"
#include "blindfl/protocol/plan/layer_cost.h"
#include "blindfl/protocol/plan/source_layer.h"
#include "blindfl/protocol/plan/step_cost.h"
#include "blindfl/protocol/session/room_lift.h"
#include "made_up/synthetic.h"
#include "made_up/vertical_split.h"
#include "testing/flight_transport.h"
#include "testing/links.h"

namespace blindfl::bench {

namespace {

struct Model {
  const char* name;
  std::size_t in_a;
  std::size_t in_b;
  std::vector<std::size_t> hidden;
  std::size_t outputs;
  double density;
};

constexpr std::size_t kBatch = 128;
constexpr std::size_t kSteps = 30;
constexpr std::size_t kRounds = 3;
constexpr std::size_t kRows = 6 * kBatch;
/// Ten epochs of a9a: what a job would declare.
constexpr std::size_t kDeclaredSteps = 2550;

/// Steps that flights are counted in, after the first.
constexpr std::size_t kCountedSteps = 4;

enum class Link { kMemory, kTls };
constexpr std::array kLinks{Link::kMemory, Link::kTls};

std::string_view name_of(Link link) {
  return link == Link::kMemory ? "memory" : "TLS";
}

/// Of a step.
struct Traffic {
  double bytes = 0;  ///< of both parties
  double rounds = 0;
};

struct Measured {
  double milliseconds = 0;                       // of the median step
  std::map<std::string, std::uint64_t> bytes{};  // of both parties, per step, by the kind of message
  [[nodiscard]] std::uint64_t total() const {
    return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const auto& kind) { return sum + kind.second; });
  }
};

Family family_of(const Model& m) {
  return m.outputs == 1 ? Family::kLogistic : Family::kMultinomial;
}

protocol::FeatureShape shape_of(const Model& m) {
  const FixedPointSpec features{.scale = m.density < 1 ? 0 : 16, .largest = 1, .clip = true};
  return {.in_a = m.in_a, .in_b = m.in_b, .batch = kBatch, .features_a = features, .features_b = features};
}

protocol::SgdOptions sgd() {
  return {.learning_rate = 0.01, .momentum = 0.9, .steps = kDeclaredSteps};
}

lab::LinkEnds ends(std::pair<std::unique_ptr<net::Channel>, std::unique_ptr<net::Channel>> channels) {
  return {std::move(channels.first), std::move(channels.second)};
}

lab::LinkEnds make_link(Link link) {
  if (link == Link::kMemory) return ends(net::make_memory_channels());
  const auto tls = testing::make_tls_channels();
  return {tls.first->channel(), tls.second->channel()};
}

Measured measure(const Model& m, bool shared, std::size_t steps, lab::LinkEnds link) {
  made_up::SyntheticSpec spec;
  spec.rows = kRows;
  spec.columns_a = m.in_a;
  spec.columns_b = m.in_b;
  spec.density = m.density;
  spec.binary = m.density < 1;
  spec.task = m.outputs == 1 ? made_up::Task::kBinary : made_up::Task::kMulticlass;
  spec.classes = std::max<std::size_t>(m.outputs, 2);
  const auto split = made_up::vertical_split(made_up::make_synthetic(spec).joined, m.in_a);
  lab::TwoPartyModel model;
  model.family = family_of(m);
  model.hidden = m.hidden;
  model.outputs = m.outputs;
  model.shape = shape_of(m);
  model.top = shared ? protocol::Top::kShared : protocol::Top::kOpen;
  model.training = {.epochs = kSteps * kBatch / kRows + 1, .batch = kBatch, .sgd = sgd(), .keep_products = false};
  const FixedPoint encoding(model.shape.features_a);
  lab::TwoPartyTraining training = lab::train_two_parties(
      model, {.a = data::make_dataset(split.a, encoding), .b = data::make_dataset(split.b, encoding)}, {}, steps,
      std::move(link));
  return {.milliseconds = 1e3 * training.seconds_per_step, .bytes = std::move(training.bytes)};
}

/// Flights of a step, over a link that counts them: the difference between two trainings. Two make a round.
double measured_rounds(const Model& m, bool shared) {
  const auto flights = [&](std::size_t steps) {
    const auto counter = std::make_shared<testing::FlightCounter>();
    (void)measure(m, shared, steps, ends(testing::counted_channels(counter)));
    return counter->take();
  };
  return static_cast<double>(flights(1 + kCountedSteps) - flights(1)) / kCountedSteps / 2;
}

/// Flights of a step that carry tiles of random OTs: one before each use that finds too few left of those before.
double flights_of_tiles(const std::vector<mpc::PartyCost>& uses) {
  std::uint64_t ready_a = 0;
  std::uint64_t ready_b = 0;
  std::size_t flights = 0;
  const auto missing = [](std::uint64_t wanted, std::uint64_t& ready) {
    const std::size_t tiles = wanted > ready ? ot::tiles_for(wanted - ready) : 0;
    ready += tiles * ot::kTileOts - wanted;
    return tiles > 0;
  };
  for (std::size_t step = 0; step <= kCountedSteps; ++step) {
    for (const mpc::PartyCost& use : uses) {
      const bool of_a = missing(use.a_ots, ready_a);
      const bool of_b = missing(use.b_ots, ready_b);
      if (step > 0 && (of_a || of_b)) ++flights;
    }
  }
  return static_cast<double>(flights) / kCountedSteps;
}

/// As `blindfl plan` adds them up, without range checks, which are not in these steps.
Traffic predicted(const Model& m, bool shared) {
  const auto lattice = he::make_scheme("lattice");
  const std::size_t width = m.hidden.empty() ? m.outputs : m.hidden.front();
  protocol::MatMulOptions options;
  options.sgd = sgd();
  if (shared) options = nn::for_shared_top(options);
  const protocol::MatMulParams source(protocol::plan_source(shape_of(m), width, options, {lattice.get()}).spec);
  Traffic all;
  for (const Party party : {Party::kA, Party::kB}) {
    const protocol::StepCost step = protocol::cost_of(source, party, *lattice).step;
    all.bytes += static_cast<double>(step.bytes());
    all.rounds += step.rounds;
  }
  if (!shared) {
    all.bytes += static_cast<double>(kBatch * width * sizeof(std::uint64_t));  // Z, opened
    return all;
  }
  const mpc::TopPlan top(*lattice, {.hidden = m.hidden, .outputs = m.outputs, .family = family_of(m)},
                         {.batch = kBatch, .sgd = sgd()});
  std::vector<mpc::PartyCost> uses;
  for (const mpc::TopUse& use : top.step()) {
    uses.push_back(use.cost);
    all.bytes += static_cast<double>(use.cost.a_bytes + use.cost.b_bytes + protocol::ot_bytes(use.cost.a_ots) +
                                     protocol::ot_bytes(use.cost.b_ots));
    all.rounds += use.cost.flights / 2.0;
  }
  uses.push_back(protocol::room_lift_cost(source.lifts()));
  all.rounds += flights_of_tiles(uses) / 2;
  return all;
}

struct Reported {
  std::array<Measured, kLinks.size()> best{};  ///< by link
  double rounds = 0;
  Traffic planned{};
};

double megabytes(double bytes) {
  return bytes / 1e6;
}

void print_json(const Model& m, const std::array<Reported, 2>& tops) {
  std::cout << R"({"model":")" << m.name << '"';
  for (const bool shared : {false, true}) {
    const Reported& top = tops[shared ? 1 : 0];
    const std::string prefix = shared ? R"(,"shared_)" : R"(,"open_)";
    std::cout << prefix << R"(ms":)" << top.best[0].milliseconds << prefix << R"(tls_ms":)" << top.best[1].milliseconds
              << prefix << R"(mb":)" << megabytes(static_cast<double>(top.best[0].total())) << prefix
              << R"(predicted_mb":)" << megabytes(top.planned.bytes) << prefix << R"(rounds":)" << top.rounds << prefix
              << R"(predicted_rounds":)" << top.planned.rounds;
  }
  std::cout << "}\n";
}

void print(const Model& m, const std::array<Reported, 2>& tops) {
  std::cout << std::fixed << std::setprecision(2) << m.name << ":";
  for (std::size_t link = 0; link < kLinks.size(); ++link) {
    const double open = tops[0].best[link].milliseconds;
    const double shared = tops[1].best[link].milliseconds;
    std::cout << (link == 0 ? " " : "; ") << name_of(kLinks[link]) << " open " << open << " ms, shared " << shared
              << " ms, ratio " << shared / open;
  }
  std::cout << "\n";
  for (const bool shared : {false, true}) {
    const Reported& top = tops[shared ? 1 : 0];
    std::cout << "  " << (shared ? "shared" : "open") << ": " << megabytes(static_cast<double>(top.best[0].total()))
              << " MB (predicted " << megabytes(top.planned.bytes) << "), " << top.rounds << " rounds (predicted "
              << top.planned.rounds << ")\n";
  }
  for (const auto& [kind, bytes] : tops[1].best[0].bytes) {
    if (bytes < 1000) continue;
    std::cout << "  " << std::left << std::setw(24) << kind << std::right << megabytes(static_cast<double>(bytes))
              << " MB\n";
  }
}

}  // namespace

void report_tops(const TopsOptions& options) {
  torch::set_num_threads(1);
  const std::array<Model, 3> models{{{"a9a LR", 62, 61, {}, 1, 0.11},
                                     {"connect-4 MLP", 63, 63, {64, 16}, 3, 0.33},
                                     {"Fashion-MNIST MLP", 392, 392, {64}, 10, 1.0}}};
  if (!options.json) {
    std::cout << "batch " << kBatch << ", ReLU, momentum 0.9, best of " << kRounds
              << " rounds in turns of the median of " << kSteps << " steps, " << std::thread::hardware_concurrency()
              << " cores, 1 thread per party\n";
  }
  for (const Model& m : models) {
    if (options.model && *options.model != m.name) continue;
    std::array<Reported, 2> tops;
    for (std::size_t round = 0; round < kRounds; ++round) {
      for (std::size_t link = 0; link < kLinks.size(); ++link) {
        for (const bool shared : {false, true}) {
          Measured now = measure(m, shared, kSteps + 1, make_link(kLinks[link]));
          Measured& so_far = tops[shared ? 1 : 0].best[link];
          if (round == 0 || now.milliseconds < so_far.milliseconds) so_far = std::move(now);
        }
      }
    }
    for (const bool shared : {false, true}) {
      Reported& top = tops[shared ? 1 : 0];
      top.rounds = measured_rounds(m, shared);
      top.planned = predicted(m, shared);
    }
    options.json ? print_json(m, tops) : print(m, tops);
  }
}

}  // namespace blindfl::bench
