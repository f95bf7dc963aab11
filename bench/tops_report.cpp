#include "tops_report.h"

#include <torch/torch.h>

#include <array>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "blindfl/blindfl.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/net/channel.h"
#include "made_up/synthetic.h"
#include "made_up/tables.h"
#include "made_up/vertical_split.h"
#include "timing.h"

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

/// One party's step, after another.
using Step = std::function<void(const Batch&)>;

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

SgdOptions sgd() {
  return {.learning_rate = 0.01, .momentum = 0.9, .steps = kDeclaredSteps};
}

MatMulOptions source_options() {
  MatMulOptions options;
  options.sgd = sgd();
  return options;
}

/// What makes a party's steps, with all that they need to stay alive.
Step open_steps(Session& session, const Model& m, const FeatureShape& shape) {
  const auto train = [&](auto model) -> Step {
    auto optimizer = std::make_shared<FederatedOptimizer>(*model, sgd());
    return [model, optimizer, family = family_of(m)](const Batch& x) mutable {
      const torch::Tensor loss = nn::loss(family, model->forward(x), nn::labels_tensor(x));
      optimizer->zero_grad();
      loss.backward();
      optimizer->step();
    };
  };
  if (m.hidden.empty()) return train(GeneralizedLinear(session, shape, m.outputs, source_options()));
  return train(Mlp(session, shape, m.hidden, m.outputs, Activation::kRelu, source_options()));
}

Step shared_steps(Session& session, const Model& m, const FeatureShape& shape) {
  const nn::SharedTopOptions top{.batch = kBatch, .sgd = sgd()};
  const auto train = [&](auto model) -> Step {
    auto optimizer = std::make_shared<FederatedOptimizer>(*model, sgd());
    nn::SharedLoss loss(session, family_of(m), m.outputs, top);
    return [model, optimizer, loss](const Batch& x) mutable {
      auto step = loss->forward(model->scores(x), x);
      optimizer->zero_grad();
      step.backward();
      optimizer->step();
    };
  };
  if (m.hidden.empty()) {
    return train(nn::SharedGeneralizedLinear(session, shape, m.outputs, source_options(), top));
  }
  return train(nn::SharedMlp(session, shape, m.hidden, m.outputs, Activation::kRelu, source_options(), top));
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
  const he::LatticeScheme scheme;
  const auto party = [&](Session& session) {
    const FixedPointSpec features{.scale = m.density < 1 ? 0 : 16, .largest = 1, .clip = true};
    const FeatureShape shape{
        .in_a = m.in_a, .in_b = m.in_b, .batch = kBatch, .features_a = features, .features_b = features};
    const auto rows =
        data::make_dataset(session.party() == protocol::Party::kA ? split.a : split.b, FixedPoint(shape.features_a));
    const Step step = shared ? shared_steps(session, m, shape) : open_steps(session, m, shape);
    Measured measured;
    Stopwatch watch;
    for (std::size_t i = 0; i <= kSteps; ++i) {
      std::vector<std::uint32_t> numbers(kBatch);
      std::iota(numbers.begin(), numbers.end(), static_cast<std::uint32_t>(i % (kRows / kBatch) * kBatch));
      const Batch batch = data::make_batch(rows, numbers, kBatch);
      step(batch);
      if (i == 0) {  // keys, first weights and what is made once are not part of a step
        for (const auto& [kind, traffic] : session.channel().sent())
          measured.bytes[std::string(net::name_of(kind))] -= traffic.bytes;
        watch.restart();
      } else {
        watch.lap();
      }
    }
    for (const auto& [kind, traffic] : session.channel().sent())
      measured.bytes[std::string(net::name_of(kind))] += traffic.bytes;
    for (auto& kind : measured.bytes) kind.second /= kSteps;
    measured.milliseconds = watch.median_lap();
    return measured;
  };
  auto [a, b] = protocol::run_in_process(scheme, party);
  for (const auto& [kind, bytes] : a.bytes) b.bytes[kind] += bytes;
  return std::move(b);
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
