#include "layer_steps.h"

#include <malloc.h>

#include <barrier>
#include <tuple>
#include <utility>
#include <vector>

#include "blindfl/base/process_usage.h"
#include "blindfl/protocol/session/in_process.h"
#include "timing.h"

namespace blindfl::bench {

namespace {

using protocol::Party;
using protocol::Session;

constexpr double kLearningRate = 0.05;

IntMatrix no_features(std::size_t rows) {
  return IntMatrix::dense(rows, 0, {}, 0, 1);
}

/// One party's half of a layer in training.
class LayerRun {
 public:
  LayerRun(Session& session, const LayerShape& shape, const StepPlan& plan)
      : session_(session), layer_(session, layer_spec(shape, plan.update, plan.momentum)) {
    SeededRandom random(3);
    for (std::size_t i = 0; i < plan.batches; ++i) {
      const IntMatrix x = random_features(shape, kLayerBatch, random);
      batches_.push_back(at_a() ? x : no_features(kLayerBatch));
    }
    single_ = at_a() ? random_features(shape, 1, random) : no_features(1);
  }

  void step(std::size_t i) {
    const IntMatrix& x = batches_[i % batches_.size()];
    (void)layer_.forward(x);
    learn(x);
  }
  /// All batches once; with momentum, in two windows, with as little as possible between them.
  void warm_up() {
    all_batches();
    if (!layer_.params().encrypted() || layer_.params().spec().sgd.momentum == 0) return;
    const std::size_t window = protocol::MomentumSums(protocol::SgdPlan(layer_.params().spec().sgd)).window();
    while (steps_ < window) learn(single_);
    all_batches();
  }

 private:
  [[nodiscard]] bool at_a() const { return session_.party() == Party::kA; }

  void all_batches() {
    for (std::size_t i = 0; i < batches_.size(); ++i) step(i);
  }
  void learn(const IntMatrix& x) {
    const auto gradients = layer_.backward(x, at_a() ? protocol::absent_derivative(x.rows(), x.rows()) : derivative(x));
    ++steps_;
    protocol::Weight& weight = layer_.weight(Party::kA);
    if (weight.update) {
      weight.update->step();
      return;
    }
    weight.piece -= multiply_public(*gradients.weight_a, PublicFactor(kLearningRate / static_cast<double>(kLayerBatch)),
                                    weight.piece.scale());
    ++weight.version;
  }
  [[nodiscard]] protocol::Derivative derivative(const IntMatrix& x) {
    const std::size_t out = layer_.params().spec().out;
    std::vector<double> dz(x.rows() * out);
    for (double& value : dz) value = 2 * random_.uniform() - 1;
    return protocol::encode_derivative(layer_.params().derivative(), x.rows(), out, dz);
  }

  Session& session_;
  protocol::MatMul layer_;
  std::vector<IntMatrix> batches_;
  IntMatrix single_;
  SeededRandom random_{4};
  std::size_t steps_ = 0;
};

std::uint64_t bytes_sent(Session& session) {
  return net::total(session.channel().sent()).bytes;
}

}  // namespace

StepCost measure_step(const he::Scheme& scheme, const LayerShape& shape, const StepPlan& plan) {
  const auto party = [&](Session& session) {
    LayerRun run(session, shape, plan);
    run.warm_up();
    const std::uint64_t sent = bytes_sent(session);
    std::vector<double> laps;
    for (std::size_t i = 0; i < plan.steps; ++i) {
      const double start = cpu_seconds();
      run.step(i);
      laps.push_back((cpu_seconds() - start) * 1e3);
    }
    return std::pair(median(std::move(laps)),
                     static_cast<double>(bytes_sent(session) - sent) / static_cast<double>(plan.steps));
  };
  const auto [a, b] = protocol::run_in_process(scheme, party);
  return {a.first, b.first, a.second, b.second};
}

// The first pass carries the encrypted weights, the second does not. What can be prepared without them is, before each.
OwnCost measure_own(const he::Scheme& scheme, std::size_t features) {
  protocol::MatMulSpec spec;
  spec.in_b = features;
  spec.out = 1;
  spec.batch = kLayerBatch;
  spec.features_b = {.scale = 0, .largest = 1.0};
  spec.nonzeros_b = 7;
  const LayerShape shape{"own", features, 7, 1, 1, 1, 5};
  SeededRandom random(3);
  const IntMatrix x = random_features(shape, kLayerBatch, random);
  std::barrier ready(2);
  const auto party = [&](Session& session) {
    const bool at_b = session.party() == Party::kB;
    protocol::MatMul layer(session, spec);
    const IntMatrix mine = at_b ? x : no_features(kLayerBatch);
    const auto prepare = [&] {
      while (session.prepare()) {
      }
      ready.arrive_and_wait();
    };
    const auto pass = [&] {
      const double start = cpu_seconds();
      (void)layer.forward(mine);
      return (cpu_seconds() - start) * 1e3;
    };
    prepare();
    malloc_trim(0);
    const PeakMemory memory;
    const double first = pass();
    const auto growth = static_cast<double>(memory.growth());
    const auto bytes = static_cast<double>(bytes_sent(session));
    prepare();
    return std::tuple(first - pass(), bytes, growth);
  };
  const auto [a, b] = protocol::run_in_process(scheme, party);
  return {std::get<0>(a), std::get<0>(b), std::get<1>(a), std::get<2>(b)};
}

}  // namespace blindfl::bench
