#include "tops_report.h"

#include <torch/torch.h>

#include <array>
#include <iomanip>
#include <iostream>
#include <map>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "blindfl/blindfl.h"
#include "blindfl/lab/two_party_training.h"
#include "made_up/synthetic.h"
#include "made_up/vertical_split.h"

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

Measured measure(const Model& m, bool shared) {
  made_up::SyntheticSpec spec;
  spec.rows = kRows;
  spec.columns_a = m.in_a;
  spec.columns_b = m.in_b;
  spec.density = m.density;
  spec.binary = m.density < 1;
  spec.task = m.outputs == 1 ? made_up::Task::kBinary : made_up::Task::kMulticlass;
  spec.classes = std::max<std::size_t>(m.outputs, 2);
  const auto split = made_up::vertical_split(made_up::make_synthetic(spec).joined, m.in_a);
  const FixedPointSpec features{.scale = m.density < 1 ? 0 : 16, .largest = 1, .clip = true};
  lab::TwoPartyModel model;
  model.family = family_of(m);
  model.hidden = m.hidden;
  model.outputs = m.outputs;
  model.shape = {.in_a = m.in_a, .in_b = m.in_b, .batch = kBatch, .features_a = features, .features_b = features};
  model.top = shared ? protocol::Top::kShared : protocol::Top::kOpen;
  model.training = {.epochs = kSteps * kBatch / kRows + 1,
                    .batch = kBatch,
                    .sgd = {.learning_rate = 0.01, .momentum = 0.9, .steps = kDeclaredSteps},
                    .keep_products = false};
  const FixedPoint encoding(features);
  const lab::TwoPartyTraining training = lab::train_two_parties(
      model, {.a = data::make_dataset(split.a, encoding), .b = data::make_dataset(split.b, encoding)}, {}, kSteps + 1);
  return {.milliseconds = 1e3 * training.seconds_per_step, .bytes = training.bytes};
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
    std::array<Measured, 2> best;
    for (std::size_t round = 0; round < kRounds; ++round) {
      for (const bool shared : {false, true}) {
        Measured now = measure(m, shared);
        Measured& so_far = best[shared ? 1 : 0];
        if (round == 0 || now.milliseconds < so_far.milliseconds) so_far = std::move(now);
      }
    }
    const auto& [open, shared] = best;
    const auto megabytes = [](std::uint64_t bytes) { return static_cast<double>(bytes) / 1e6; };
    if (options.json) {
      std::cout << R"({"model":")" << m.name << R"(","open_ms":)" << open.milliseconds << R"(,"shared_ms":)"
                << shared.milliseconds << R"(,"open_mb":)" << megabytes(open.total()) << R"(,"shared_mb":)"
                << megabytes(shared.total()) << "}\n";
      continue;
    }
    std::cout << std::fixed << std::setprecision(2) << m.name << ": open " << open.milliseconds << " ms, "
              << megabytes(open.total()) << " MB; shared " << shared.milliseconds << " ms, "
              << megabytes(shared.total()) << " MB; ratio " << shared.milliseconds / open.milliseconds << "\n";
    for (const auto& [kind, bytes] : shared.bytes) {
      if (bytes >= 1000)
        std::cout << "  " << std::left << std::setw(24) << kind << std::right << megabytes(bytes) << " MB\n";
    }
  }
}

}  // namespace blindfl::bench
