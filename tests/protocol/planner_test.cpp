// The planner: what it counts is what crosses the link, what it chooses is the cheapest, and it shows what it weighed.

#include "blindfl/protocol/plan/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "blindfl/base/error.h"
#include "protocol/matmul_fixture.h"
#include "testing/steps.h"
#include "testing/thrown.h"

namespace blindfl::protocol::planner_test {
namespace {

using ::testing::HasSubstr;
using Kind = IntMatrix::Kind;
using Schemes = std::vector<const he::Scheme*>;

constexpr FixedPointSpec kBinary{.scale = 0, .largest = 1.0, .clip = false};
constexpr Link kFast{.bits_per_second = 10e9, .round_trip = 1e-4};
constexpr Link kSlow{.bits_per_second = 10e6, .round_trip = 20e-3};

MatMulSpec dense_layer() {
  MatMulSpec spec = small_spec(392, 392, 64, 128);
  spec.sgd = {.learning_rate = 0.1, .steps = 1000};
  return spec;
}

MatMulSpec binary_layer(std::size_t in_a, std::size_t nonzeros, std::size_t in_b) {
  MatMulSpec spec = small_spec(in_a, in_b, 1, 128);
  spec.features_a = spec.features_b = kBinary;
  spec.nonzeros_a = nonzeros;
  spec.sgd = {.learning_rate = 0.1, .steps = 10000};
  return spec;
}

const LayerOption* find(const LayerPlan& plan, const std::string& scheme_a, Update update,
                        const std::string& scheme_b) {
  for (const LayerOption& option : plan.considered) {
    if (option.scheme_a == scheme_a && option.update == update && option.scheme_b == scheme_b) return &option;
  }
  return nullptr;
}

/// With the parameters that users get: planning makes no keys.
class Planner : public ::testing::Test {
 protected:
  he::LatticeScheme lattice_;
  he::PaillierScheme paillier_;
  Schemes schemes_{&lattice_, &paillier_};

  [[nodiscard]] LayerPlan plan(const MatMulSpec& spec, const Link& link = {},
                               const PlannerChoices& choices = {}) const {
    return plan_layer(spec, choices, schemes_, link);
  }
};

TEST_F(Planner, TakesTheLatticeForDenseFeatures) {
  const LayerPlan p = plan(dense_layer());
  EXPECT_EQ(p.spec.scheme_a, "lattice");
  EXPECT_EQ(p.spec.scheme_b, "lattice");
  EXPECT_EQ(p.spec.update, Update::kExchanged);
  EXPECT_EQ(p.considered.size(), 6U);
  ASSERT_EQ(p.rows.size(), 5U) << "three ways for A's features, two for B's";
  StepCost chosen;
  for (const PlanRow& row : p.rows) {
    EXPECT_EQ(row.layer, "matmul");
    EXPECT_EQ(row.update.has_value(), row.party == Party::kA);
    EXPECT_EQ(std::get<FeaturesPart>(row.part), (FeaturesPart{.features = 392, .most_nonzeros = 392}));
    if (row.chosen) chosen += row.step;
  }
  const LayerOption* option = find(p, "lattice", Update::kExchanged, "lattice");
  EXPECT_EQ(chosen.bytes(), option->step.bytes());
}

TEST_F(Planner, TakesUpdatesUnderEncryptionForManySparseFeatures) {
  const LayerPlan p = plan(binary_layer(500000, 7, 62));
  EXPECT_EQ(p.spec.scheme_a, "paillier");
  EXPECT_EQ(p.spec.update, Update::kEncrypted);
  EXPECT_EQ(std::get<FeaturesPart>(p.rows.front().part), (FeaturesPart{.features = 500000, .most_nonzeros = 7}));
  const LayerOption* encrypted = find(p, "paillier", Update::kEncrypted, p.spec.scheme_b);
  const LayerOption* exchanged = find(p, "lattice", Update::kExchanged, p.spec.scheme_b);
  ASSERT_TRUE(encrypted != nullptr && exchanged != nullptr);
  EXPECT_LT(encrypted->step.bytes(), exchanged->step.bytes() / 100);
}

TEST_F(Planner, TakesTheLeastTimeOverAllSteps) {
  for (const Link& link : {Link{}, kFast, kSlow}) {
    for (const MatMulSpec& spec : {dense_layer(), binary_layer(62, 14, 61), binary_layer(500000, 7, 3)}) {
      const LayerPlan p = plan(spec, link);
      const LayerOption* chosen = find(p, p.spec.scheme_a, p.spec.update, p.spec.scheme_b);
      ASSERT_NE(chosen, nullptr);
      EXPECT_EQ(chosen->refused, "");
      for (const LayerOption& other : p.considered) {
        if (!other.refused.empty()) continue;
        EXPECT_LE(chosen->seconds(link, spec.sgd.steps), other.seconds(link, spec.sgd.steps));
      }
    }
  }
}

TEST_F(Planner, SendsFewerBytesOverASlowLink) {
  const MatMulSpec spec = binary_layer(62, 14, 61);
  const LayerPlan fast = plan(spec, kFast);
  EXPECT_EQ(fast.spec.scheme_a, "lattice");
  const LayerPlan slow = plan(spec, kSlow);
  EXPECT_EQ(slow.spec.scheme_a, "paillier");
  EXPECT_EQ(slow.spec.update, Update::kEncrypted);
  const auto bytes = [](const LayerPlan& p) {
    return find(p, p.spec.scheme_a, p.spec.update, p.spec.scheme_b)->step.bytes();
  };
  EXPECT_LT(bytes(slow), bytes(fast) / 2);
}

TEST_F(Planner, SetupCountsForAShortRunAndNotForALongOne) {
  MatMulSpec spec = binary_layer(0, 0, 20000);
  spec.nonzeros_b = 7;
  const Link link{.bits_per_second = 200e6, .round_trip = 1e-3};
  spec.sgd.steps = 1;
  EXPECT_EQ(plan(spec, link).spec.scheme_b, "lattice") << "10 MB of Paillier's ciphertexts to begin with";
  spec.sgd.steps = 1000;
  EXPECT_EQ(plan(spec, link).spec.scheme_b, "paillier");
}

TEST_F(Planner, LeavesAPartyWithoutFeaturesAlone) {
  MatMulSpec spec = dense_layer();
  spec.in_b = 0;
  spec.scheme_b = "untouched";
  const LayerPlan only_a = plan(spec);
  EXPECT_EQ(only_a.spec.scheme_a, "lattice");
  EXPECT_EQ(only_a.spec.scheme_b, "untouched");
  EXPECT_EQ(only_a.considered.size(), 3U);
  for (const PlanRow& row : only_a.rows) EXPECT_EQ(row.party, Party::kA);

  spec = dense_layer();
  spec.in_a = 0;
  spec.update = Update::kEncrypted;
  const LayerPlan only_b = plan(spec);
  EXPECT_EQ(only_b.spec.scheme_a, "");
  EXPECT_EQ(only_b.spec.update, Update::kEncrypted) << "it says nothing without A's features";
  EXPECT_EQ(only_b.spec.scheme_b, "lattice");
  EXPECT_EQ(only_b.considered.size(), 2U);
  EXPECT_EQ(only_b.considered.front().step.rounds, 1);
}

TEST_F(Planner, HonoursWhatWasChosen) {
  const MatMulSpec dense = dense_layer();
  const LayerPlan a = plan(dense, {}, {.scheme_a = "paillier", .update = Update::kExchanged});
  EXPECT_EQ(a.spec.scheme_a, "paillier");
  EXPECT_EQ(a.spec.update, Update::kExchanged);
  EXPECT_EQ(a.spec.scheme_b, "lattice") << "still open";
  ASSERT_FALSE(a.rows.empty());
  EXPECT_TRUE(a.rows.front().chosen && a.rows.front().asked);
  EXPECT_EQ(a.considered.size(), 2U);

  EXPECT_EQ(plan(dense, {}, {.scheme_b = "paillier"}).spec.scheme_b, "paillier");
  const LayerPlan encrypted = plan(dense, {}, {.update = Update::kEncrypted});
  EXPECT_EQ(encrypted.spec.update, Update::kEncrypted);
  EXPECT_EQ(encrypted.spec.scheme_a, "paillier") << "the only one that can";
}

TEST_F(Planner, RefusesChoicesThatCannotBeAndSaysWhy) {
  const auto refusal = [&](const MatMulSpec& spec, const PlannerChoices& choices) {
    return testing::message_of<ConfigError>([&] { (void)plan(spec, {}, choices); });
  };
  EXPECT_EQ(refusal(dense_layer(), {.scheme_b = "rot13"}),
            "layer 'matmul': the session has no scheme 'rot13', only: lattice, paillier");
  EXPECT_EQ(refusal(dense_layer(), {.scheme_a = "lattice", .update = Update::kEncrypted}),
            "there is no way to run the layer as asked: layer 'matmul': updates under encryption need the scheme "
            "'paillier' for A's features, not 'lattice'");
  MatMulSpec undeclared = dense_layer();
  undeclared.sgd.steps = 0;
  EXPECT_THAT(refusal(undeclared, {.update = Update::kEncrypted}), HasSubstr("need the most steps that will be taken"));
  MatMulSpec decay = dense_layer();
  decay.sgd.weight_decay = 0.01;
  EXPECT_THAT(refusal(decay, {.scheme_a = "paillier", .update = Update::kEncrypted}),
              HasSubstr("weight decay would scale it. Use update: exchanged, or no weight decay"));
  EXPECT_THAT(refusal(dense_layer(), {.most_memory = 1000}),
              HasSubstr("of memory at A, and at most 0.1 GiB are allowed"));
}

TEST_F(Planner, KnowsWhatWeightDecayRulesOutAndMakesTravel) {
  MatMulSpec spec = binary_layer(500000, 7, 62);
  spec.sgd.weight_decay = 0.01;
  const LayerPlan p = plan(spec);
  EXPECT_EQ(p.spec.update, Update::kExchanged);
  const LayerOption* encrypted = find(p, "paillier", Update::kEncrypted, "lattice");
  ASSERT_NE(encrypted, nullptr);
  EXPECT_EQ(encrypted->refused,
            "layer 'matmul': updates under encryption only ever add to a ciphertext, and weight decay would scale it. "
            "Use update: exchanged, or no weight decay");
  EXPECT_EQ(std::ranges::count(p.rows, encrypted->refused, &PlanRow::refused), 1);
  EXPECT_EQ(p.considered.front().setup.bytes(), 0U) << "V_B shrinks, and travels with every step";
}

TEST_F(Planner, RefusesWhatTakesTooMuchMemory) {
  const LayerPlan p = plan(binary_layer(50'000'000, 7, 0));
  EXPECT_EQ(p.spec.update, Update::kEncrypted);
  const LayerOption* exchanged = find(p, "paillier", Update::kExchanged, "");
  ASSERT_NE(exchanged, nullptr);
  EXPECT_THAT(exchanged->refused, HasSubstr("ciphertexts and keys take 29.9 GiB of memory at A, and at most 16 GiB"));
  // 10,000 steps of 128 rows of 7 touch 8,960,000 rows at most.
  const LayerOption* encrypted = find(p, "paillier", Update::kEncrypted, "");
  EXPECT_EQ(encrypted->memory_a, 8'960'000ULL * 640 + 50'000'000ULL * 4);
}

TEST_F(Planner, CountsOnAThousandStepsWhereNoneAreDeclared) {
  MatMulSpec spec = dense_layer();
  spec.sgd.steps = 0;
  const LayerPlan p = plan(spec);
  EXPECT_EQ(p.spec.scheme_a, "lattice");
  const LayerOption* encrypted = find(p, "paillier", Update::kEncrypted, "lattice");
  ASSERT_NE(encrypted, nullptr);
  EXPECT_THAT(encrypted->refused, HasSubstr("sgd.steps"));
}

TEST_F(Planner, GivesTiesToTheLatticeWhateverTheOrder) {
  // The first of those that take the same is taken.
  const LayerPlan p = plan_layer(dense_layer(), {}, {&paillier_, &lattice_}, {});
  EXPECT_EQ(p.considered.front().scheme_a, "lattice");
  EXPECT_EQ(p.considered.front().scheme_b, "lattice");
}

TEST_F(Planner, RefusesALinkWithoutSpeedAndASessionWithoutSchemes) {
  for (const double speed : {0.0, -1.0, std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW((void)plan(dense_layer(), {.bits_per_second = speed}), InvalidArgument);
  }
  EXPECT_THROW((void)plan(dense_layer(), {.round_trip = -1.0}), InvalidArgument);
  EXPECT_THROW((void)plan_layer(dense_layer(), {}, {}, {}), InvalidArgument);
  EXPECT_THROW((void)plan(small_spec(0, 0, 1, 1)), InvalidArgument);
}

TEST(StepCost, AddsComputingBytesAndRoundTrips) {
  const StepCost cost{.seconds_a = 1, .seconds_b = 2, .bytes_to_a = 1000, .bytes_to_b = 250, .rounds = 3};
  EXPECT_DOUBLE_EQ(cost.seconds({.bits_per_second = 1e4, .round_trip = 0.5}), 1 + 2 + 1 + 1.5);
}

/// One way to run a layer, with keys that are quick.
struct Case {
  const char* name;
  const char* scheme_a;
  Update update;
  const char* scheme_b;
  double momentum;
  double weight_decay;
};

class PlannedBytes : public ::testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<he::Scheme> lattice_ = testing::make_scheme("lattice");
  std::unique_ptr<he::Scheme> paillier_ = testing::make_scheme("paillier");
  /// The default's keys are there before the layers are, which one thread then makes one after the other.
  Schemes schemes_ = GetParam().update == Update::kEncrypted ? Schemes{paillier_.get(), lattice_.get()}
                                                             : Schemes{lattice_.get(), paillier_.get()};
  SeededRandom random_{7};

  [[nodiscard]] LayerPlan planned(MatMulSpec spec) const {
    spec.sgd = {
        .learning_rate = 0.1, .momentum = GetParam().momentum, .weight_decay = GetParam().weight_decay, .steps = 3};
    return plan_layer(spec,
                      {.scheme_a = GetParam().scheme_a, .scheme_b = GetParam().scheme_b, .update = GetParam().update},
                      schemes_, {});
  }

  /// A step as an optimizer takes it: here only what it means for what travels.
  void step(MatMulPair& pair) {
    if (pair.a.holder() != nullptr) {
      pair.a.holder()->step();
      pair.b.owner()->step();
      if (pair.b.row_update() != nullptr) pair.b.row_update()->step();
      return;
    }
    for (MatMul* half : {&pair.a, &pair.b}) {
      ++half->weight(Party::kA).version;
      if (GetParam().weight_decay > 0) ++half->weight(Party::kB).version;
    }
  }

  static std::uint64_t sent(MatMulPair& pair, Party from) {
    std::uint64_t bytes = 0;
    for (const auto& [what, traffic] : pair.parties.recording(from).sent()) {
      const std::set<net::Step> counted{steps::kForwardOperand, steps::kForwardProduct, steps::kDerivativeOperand,
                                        steps::kGradientProduct};
      if (counted.contains(what)) bytes += traffic.bytes;
    }
    return bytes;
  }

  void expect_what_crosses(const MatMulSpec& wanted) {
    const LayerPlan p = planned(wanted);
    ASSERT_EQ(p.considered.size(), 1U);
    const LayerOption& option = p.considered.front();
    MatMulPair pair(schemes_, p.spec);
    const auto features = [&](const FixedPointSpec& encoding, std::size_t cols) {
      return cols == 0 ? IntMatrix::dense(wanted.batch, 0, {}, encoding.scale, 1)
                       : random_features(encoding, Kind::kDense, wanted.batch, cols, random_);
    };
    for (std::uint64_t steps = 1; steps <= 3; ++steps) {
      const IntMatrix x_a = features(wanted.features_a, wanted.in_a);
      const IntMatrix x_b = features(wanted.features_b, wanted.in_b);
      (void)pair.forward(x_a, x_b);
      (void)pair.backward(x_a, x_b, random_derivative(wanted, random_));
      step(pair);
      EXPECT_EQ(sent(pair, Party::kA), option.setup.bytes_to_b + steps * option.step.bytes_to_b) << steps;
      EXPECT_EQ(sent(pair, Party::kB), option.setup.bytes_to_a + steps * option.step.bytes_to_a) << steps;
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Options, PlannedBytes,
                         ::testing::Values(Case{"lattice_lattice", "lattice", Update::kExchanged, "lattice", 0, 0},
                                           Case{"lattice_paillier", "lattice", Update::kExchanged, "paillier", 0, 0},
                                           Case{"paillier_paillier", "paillier", Update::kExchanged, "paillier", 0, 0},
                                           Case{"encrypted_lattice", "paillier", Update::kEncrypted, "lattice", 0, 0},
                                           Case{"encrypted_paillier", "paillier", Update::kEncrypted, "paillier", 0, 0},
                                           Case{"encrypted_momentum", "paillier", Update::kEncrypted, "lattice", 0.5,
                                                0},
                                           Case{"lattice_decay", "lattice", Update::kExchanged, "lattice", 0, 0.1},
                                           Case{"paillier_decay", "paillier", Update::kExchanged, "paillier", 0, 0.1}),
                         [](const auto& c) { return c.param.name; });

TEST_P(PlannedBytes, AreThoseThatCrossForBinaryFeatures) {
  MatMulSpec spec = small_spec(62, 61, 1, 16);
  spec.features_a = spec.features_b = kBinary;
  expect_what_crosses(spec);
}

TEST_P(PlannedBytes, AreThoseThatCrossForRealFeaturesAndSeveralOutputs) {
  MatMulSpec spec = small_spec(13, 7, 9, 8);
  spec.derivative.largest = 4.0;
  expect_what_crosses(spec);
}

TEST_P(PlannedBytes, AreThoseThatCrossWithoutFeaturesOfB) {
  MatMulSpec spec = small_spec(20, 0, 2, 8);
  spec.features_a = kBinary;
  expect_what_crosses(spec);
}

TEST_F(Planner, MakesTheSamePlanAtBothPartiesSoThatTheirLayersAgree) {
  const auto paillier = testing::make_scheme("paillier");
  testing::TwoParties parties(Schemes{&lattice_, paillier.get()});
  MatMulSpec wanted = binary_layer(62, 14, 61);
  wanted.batch = 8;
  wanted.nonzeros_a = 0;
  for (const Link& link : {kFast, kSlow}) {
    const auto [a, b] = parties.run([&](Session& session) {
      const LayerPlan p = plan_layer(wanted, {}, session.schemes(), link);
      MatMul layer(session, p.spec);
      SeededRandom random(3);
      (void)layer.forward(random_features(kBinary, Kind::kDense, 8, layer.params().in(session.party()), random));
      return std::pair(p.rows, layer.params().settings());
    });
    EXPECT_EQ(a, b);
  }
}

}  // namespace
}  // namespace blindfl::protocol::planner_test
