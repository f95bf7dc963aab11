// What a training step of a shared top sends, against what mpc::TopPlan said before there was one.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/mpc/steps.h"
#include "blindfl/mpc/top_plan.h"
#include "blindfl/net/channel.h"
#include "blindfl/nn/federated_optimizer.h"
#include "blindfl/nn/shared_factorization.h"
#include "blindfl/nn/shared_loss.h"
#include "blindfl/nn/shared_models.h"
#include "blindfl/nn/wide_derivative.h"
#include "blindfl/protocol/session/ot_pools.h"
#include "blindfl/protocol/session/steps.h"
#include "testing/flight_transport.h"
#include "testing/two_parties.h"

namespace blindfl::nn::shared_cost_test {
namespace {

using mpc::PartyCost;
using mpc::TopPlan;
using mpc::TopShape;
using mpc::TopUse;
using protocol::OtPools;
using protocol::Party;
using protocol::Session;

constexpr std::size_t kBatch = 128;

struct Case {
  const char* name;
  TopShape shape;
  bool weights = false;

  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

/// The layers above source layers, and the loss.
struct TopImpl : FederatedModule {
  TopImpl(Session& s, const TopShape& shape, const SharedTopOptions& options)
      : pairs(shape.factors > 0 ? SharedFactorization(s, shape.factors, options) : SharedFactorization(nullptr)),
        bias(register_module("bias",
                             SharedBias(s, shape.hidden.empty() ? shape.outputs : shape.hidden.front(), 0.1, options))),
        layers(register_module("layers", make_shared_top(s, shape.hidden, shape.outputs, shape.activation, options))),
        loss(register_module("loss", SharedLoss(s, shape.family, shape.outputs, options))) {
    if (pairs) register_module("pairs", pairs);
  }
  /// As models do; `z` is what a factorisation machine takes.
  SharedTensor scores(const SharedTensor& x, const SharedTensor& z) {
    if (!pairs) return layers(bias(x));
    const SharedTensor of_pairs = pairs(z);
    return layers->size() == 0 ? bias(of_pairs) : layers(bias(x)) + of_pairs;
  }

  SharedFactorization pairs{nullptr};
  SharedBias bias;
  SharedSequential layers;
  SharedLoss loss;
};

/// Random OTs that were made and not used, as both parties count them: what more uses make travel.
class Stock {
 public:
  /// In the order of uses. What A and B send.
  PartyCost travels(const std::vector<TopUse>& uses) {
    PartyCost all;
    for (const TopUse& use : uses) {
      const std::uint64_t to_a = missing_bytes(use.cost.a_ots, a_ready_);
      const std::uint64_t to_b = missing_bytes(use.cost.b_ots, b_ready_);
      all = all + use.cost;
      all.a_bytes += to_b;
      all.b_bytes += to_a;
      all.flights += (to_a + to_b > 0 ? 1 : 0) + (made_ == 0 && to_a + to_b > 0 ? kSetupFlights : 0);
      made_ += to_a + to_b;
    }
    all.a_ots = all.b_ots = 0;
    return all;
  }

 private:
  static constexpr int kSetupFlights = 2;

  static std::uint64_t missing_bytes(std::uint64_t wanted, std::uint64_t& ready) {
    const std::uint64_t tiles = wanted > ready ? ot::tiles_for(wanted - ready) : 0;
    ready += tiles * ot::kTileOts - wanted;
    return tiles * OtPools::tile_bytes();
  }

  std::uint64_t made_ = 0;
  std::uint64_t a_ready_ = 0;
  std::uint64_t b_ready_ = 0;
};

class CostOfSharedTop : public ::testing::TestWithParam<Case> {
 protected:
  struct AtParty {
    std::shared_ptr<TopImpl> top;
    std::unique_ptr<FederatedOptimizer> optimizer;
    std::uint32_t source = 0;
  };
  AtParty& of(const Session& s) { return at_[s.party() == Party::kA ? 0 : 1]; }

  static const he::LatticeScheme& lattice() {
    static const he::LatticeScheme scheme;
    return scheme;
  }
  [[nodiscard]] static const TopShape& shape() { return GetParam().shape; }
  [[nodiscard]] std::size_t width() const { return shape().hidden.empty() ? shape().outputs : shape().hidden.front(); }

  void make() {
    parties_.run([&](Session& s) {
      AtParty& at = of(s);
      at.source = s.new_layer();
      at.top = std::make_shared<TopImpl>(s, shape(), options_);
      at.optimizer = std::make_unique<FederatedOptimizer>(*at.top, SgdOptions{.learning_rate = 0.01});
      return 0;
    });
  }
  /// Shares of numbers around 0.
  static std::pair<ShareMatrix, ShareMatrix> shared_values(std::size_t cols, SeededRandom& values) {
    Random random;
    std::vector<double> reals(kBatch * cols);
    for (double& r : reals) r = 0.5 * values.normal();
    return split(narrowed(encode_ring(kBatch, cols, reals, kSharedScale, 0x1p20), mpc::kValueRing), random);
  }
  /// Scores, loss, backward pass and update of a full batch of values around 0.
  void step() {
    SeededRandom values(5);
    const auto of_layer = shared_values(width(), values);
    const auto of_pairs = shared_values(1 + shape().factors, values);
    parties_.run([&](Session& s) {
      AtParty& at = of(s);
      const auto tensor = [&](const std::pair<ShareMatrix, ShareMatrix>& shares) {
        return SharedTensor{.session = &s,
                            .share = s.party() == Party::kA ? shares.first : shares.second,
                            .rows = kBatch,
                            // As source layers do.
                            .backward = [&](const SharedDerivative& d) { (void)wide_derivative(s, at.source, d); }};
      };
      data::Batch batch;
      batch.rows = kBatch;
      if (s.party() == Party::kB) batch.labels.assign(kBatch, 1.0);
      at.optimizer->zero_grad();
      at.top->loss->forward(at.top->scores(tensor(of_layer), tensor(of_pairs)), batch).backward();
      at.optimizer->step();
      return 0;
    });
  }
  void check() {
    parties_.run([&](Session& s) {
      check_ranges(*of(s).top);
      return 0;
    });
  }
  /// What crossed since the last call, but for what comes once: keys, and the setup of random OTs.
  PartyCost counted() {
    const auto sent = [&](Party party) {
      std::uint64_t bytes = 0;
      for (const auto& [step, traffic] : parties_.session(party).channel().sent()) {
        const bool counts =
            step.number() >= mpc::steps::kComparison.number || step.number() == protocol::steps::kObliviousTiles.number;
        if (counts) bytes += traffic.bytes;
      }
      return bytes;
    };
    const PartyCost now{.a_bytes = sent(Party::kA), .b_bytes = sent(Party::kB), .flights = counter_->take()};
    PartyCost since = now;
    since.a_bytes -= before_.a_bytes;
    since.b_bytes -= before_.b_bytes;
    before_ = now;
    return since;
  }

  std::shared_ptr<testing::FlightCounter> counter_ = std::make_shared<testing::FlightCounter>();
  testing::TwoParties parties_{lattice(), testing::counted_channels(counter_), testing::Record::kNo};
  SharedTopOptions options_{.batch = kBatch, .row_weights = GetParam().weights};
  std::array<AtParty, 2> at_;
  PartyCost before_;
};

/// Bytes are exact. Where the last message of one driver may travel while the peer begins the next, uses take a flight
/// less together than one after the other, and so do tiles of random OTs before choices of the same party: what is said
/// is no less than what is counted, and a tenth more at most; one flight more than that with weights, and where a
/// factorisation machine and layers beside it do not wait for each other.
void expect_close(const PartyCost& found, const PartyCost& expected, bool one_more) {
  EXPECT_EQ(found.a_bytes, expected.a_bytes);
  EXPECT_EQ(found.b_bytes, expected.b_bytes);
  EXPECT_LE(found.flights, expected.flights);
  EXPECT_GE(10 * (found.flights + (one_more ? 1 : 0)), 9 * expected.flights);
}

TEST_P(CostOfSharedTop, IsWhatStepsAndRangeChecksSend) {
  constexpr std::size_t kSteps = 3;
  const TopPlan plan(lattice(), shape(), options_);
  Stock stock;
  make();
  for (std::size_t i = 0; i < kSteps; ++i) {
    SCOPED_TRACE("step " + std::to_string(i));
    step();
    PartyCost found = counted();
    const PartyCost expected = stock.travels(plan.step());
    if (i == 0) found.flights = expected.flights;  // with keys, and digests of what both agree on
    expect_close(found, expected, GetParam().weights || (shape().factors > 0 && !shape().hidden.empty()));
  }
  check();
  SCOPED_TRACE("range check");
  expect_close(counted(), stock.travels(plan.range_check(kSteps)), false);
}

TEST_P(CostOfSharedTop, OnAverageHasRangeChecksAndRandomOtsInIt) {
  constexpr std::size_t kStepsPerEpoch = 20;
  const TopPlan plan(lattice(), shape(), options_);
  // Checks after 16 and 20 steps, 32 and 40, 48 and 60, 64 and 80: then it begins again.
  PartyCost all;
  for (std::size_t step = 1, last = 0; step <= 4 * kStepsPerEpoch; ++step) {
    for (const TopUse& use : plan.step()) all = all + use.cost;
    if (step % 16 != 0 && step % kStepsPerEpoch != 0) continue;
    for (const TopUse& use : plan.range_check(step - last)) all = all + use.cost;
    last = step;
  }
  const auto per_step = [](double sum) { return sum / (4 * kStepsPerEpoch); };
  const double tile = static_cast<double>(OtPools::tile_bytes()) / static_cast<double>(ot::kTileOts);
  const mpc::TopCost mean = plan.mean_step(kStepsPerEpoch);
  EXPECT_NEAR(mean.bytes_to_a, per_step(static_cast<double>(all.b_bytes) + tile * static_cast<double>(all.a_ots)),
              1e-3);
  EXPECT_NEAR(mean.bytes_to_b, per_step(static_cast<double>(all.a_bytes) + tile * static_cast<double>(all.b_ots)),
              1e-3);
  EXPECT_GE(mean.flights, per_step(all.flights));
  EXPECT_EQ(mean.random_ots, all.a_ots > 0);
  EXPECT_LE(mean.together, std::min(mean.seconds_a, mean.seconds_b));
}

INSTANTIATE_TEST_SUITE_P(
    Tops, CostOfSharedTop,
    ::testing::Values(
        Case{"Logistic", {.family = Family::kLogistic}},
        Case{"Multinomial", {.outputs = 5, .family = Family::kMultinomial}},
        Case{"Factors", {.factors = 8, .family = Family::kLogistic}},
        Case{"FactorsLinear", {.factors = 5, .family = Family::kLinear}},
        Case{"FactorsWeights", {.factors = 3, .family = Family::kLogistic}, true},
        Case{"FactorsRelu",
             {.hidden = {6}, .factors = 4, .activation = Activation::kRelu, .family = Family::kLogistic}},
        Case{"Linear", {.family = Family::kLinear}}, Case{"Poisson", {.family = Family::kPoisson}},
        Case{"Relu", {.hidden = {12, 4}, .activation = Activation::kRelu, .family = Family::kLogistic}},
        Case{"ReluLinear", {.hidden = {6}, .activation = Activation::kRelu, .family = Family::kLinear}},
        Case{"Tanh",
             {.hidden = {12, 4}, .outputs = 3, .activation = Activation::kTanh, .family = Family::kMultinomial}},
        Case{"LogisticWeights", {.family = Family::kLogistic}, true},
        Case{"MultinomialWeights", {.outputs = 3, .family = Family::kMultinomial}, true},
        Case{"PoissonWeights", {.family = Family::kPoisson}, true},
        Case{"ReluLinearWeights", {.hidden = {6}, .activation = Activation::kRelu, .family = Family::kLinear}, true}),
    [](const auto& c) { return c.param.name; });

}  // namespace
}  // namespace blindfl::nn::shared_cost_test
