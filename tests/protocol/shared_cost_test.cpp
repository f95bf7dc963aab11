// What a layer under a shared top is said to cost is what crosses the link; and its state is that of the moment.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "blindfl/base/error.h"
#include "blindfl/protocol/plan/planner.h"
#include "protocol/shared_fixture.h"
#include "testing/steps.h"
#include "testing/thrown.h"

namespace blindfl::protocol::shared_cost_test {
namespace {

using ::testing::HasSubstr;
using Kind = IntMatrix::Kind;

struct Case {
  std::string name;
  std::string scheme_a;
  Update update_a;
  std::string scheme_b;
  Update update_b;
  double momentum = 0;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

class SharedCost : public ::testing::TestWithParam<Case> {
 protected:
  // The first is the default, whose keys both halves of a pair can have one after the other.
  std::vector<std::unique_ptr<he::Scheme>> owned_ = [] {
    std::vector<std::unique_ptr<he::Scheme>> schemes;
    for (const char* name : {"paillier", "lattice"}) schemes.push_back(testing::make_scheme(name));
    return schemes;
  }();
  std::vector<const he::Scheme*> schemes_{owned_[0].get(), owned_[1].get()};
  SeededRandom random_{4};

  static std::uint64_t sent(MatMulPair& pair, Party from) {
    const std::set<net::Step> counted{steps::kForwardOperand, steps::kForwardProduct, steps::kSharedDerivative,
                                      steps::kSharedGradient, steps::kLiftChoices,    steps::kLiftWords};
    std::uint64_t bytes = 0;
    for (const auto& [what, traffic] : pair.parties.recording(from).sent()) {
      if (counted.contains(what)) bytes += traffic.bytes;
    }
    return bytes;
  }

  void expect_what_crosses(MatMulSpec wanted) {
    const Case& c = GetParam();
    wanted.sgd = {.learning_rate = 0.1, .momentum = c.momentum, .steps = 10};
    wanted.run.kept_rows = 100;  // of no use here
    const PlannerChoices choices{
        .scheme_a = c.scheme_a, .scheme_b = c.scheme_b, .update = c.update_a, .update_b = c.update_b};
    const LayerPlan plan = plan_layer(wanted, choices, schemes_, Link{});
    ASSERT_EQ(plan.considered.size(), 1U);
    const LayerOption& option = plan.considered.front();
    EXPECT_EQ(option.setup, StepCost{}) << "every piece changes at every step";
    EXPECT_EQ(option.step.rounds, c.update_a == Update::kEncrypted && c.update_b == Update::kEncrypted ? 1 : 3);
    EXPECT_LT(option.exposure.lift_failure, 0x1p-39);
    // Random OTs travel in whole tiles, now and then.
    const PartyCost lifts = room_lift_cost(MatMulParams(plan.spec).lifts());
    const std::uint64_t to_b = option.step.bytes_to_b - ot_bytes(lifts.b_ots);
    const std::uint64_t to_a = option.step.bytes_to_a - ot_bytes(lifts.a_ots);
    MatMulPair pair(schemes_, plan.spec);
    PieceSgd at_a(wanted.sgd);
    PieceSgd at_b(wanted.sgd);
    for (std::uint64_t steps = 1; steps <= 3; ++steps) {
      const SharedPass pass = make_shared_pass(wanted, Kind::kDense, wanted.batch, random_);
      (void)pair.forward(pass.x_a, pass.x_b);
      const auto [grad_a, grad_b] = backward_shared(pair, pass);
      at_a.step(pair.a, grad_a);
      at_b.step(pair.b, grad_b);
      EXPECT_EQ(sent(pair, Party::kA), steps * to_b) << steps;
      EXPECT_EQ(sent(pair, Party::kB), steps * to_a) << steps;
    }
  }
};

TEST_P(SharedCost, IsWhatCrossesForBinaryFeatures) {
  MatMulSpec spec = shared_spec(62, 31, 1, 16);
  spec.features_a = spec.features_b = {.scale = 0, .largest = 1, .clip = false};
  expect_what_crosses(spec);
}

TEST_P(SharedCost, IsWhatCrossesForRealFeaturesAndSeveralOutputs) {
  MatMulSpec spec = shared_spec(13, 7, 9, 8);
  spec.derivative.largest = 4.0;
  expect_what_crosses(spec);
}

INSTANTIATE_TEST_SUITE_P(
    Options, SharedCost,
    ::testing::Values(Case{"lattice_lattice", "lattice", Update::kExchanged, "lattice", Update::kExchanged, 0.9},
                      Case{"lattice_paillier", "lattice", Update::kExchanged, "paillier", Update::kExchanged},
                      Case{"paillier_paillier", "paillier", Update::kExchanged, "paillier", Update::kExchanged},
                      Case{"encrypted_lattice", "paillier", Update::kEncrypted, "lattice", Update::kExchanged},
                      Case{"lattice_encrypted", "lattice", Update::kExchanged, "paillier", Update::kEncrypted},
                      Case{"encrypted_encrypted", "paillier", Update::kEncrypted, "paillier", Update::kEncrypted},
                      Case{"encrypted_encrypted_momentum", "paillier", Update::kEncrypted, "paillier",
                           Update::kEncrypted, 0.5}),
    [](const auto& c) { return c.param.name; });

TEST(SharedPlan, WeighsUpdatesOfBothPartiesWeights) {
  const auto lattice = testing::make_scheme("lattice");
  const auto paillier = testing::make_scheme("paillier");
  MatMulSpec wanted = shared_spec(20, 30, 1, 16);
  wanted.sgd.steps = 10;
  const auto plan = plan_layer(wanted, {}, {lattice.get(), paillier.get()}, Link{});
  EXPECT_EQ(plan.considered.size(), 9U) << "lattice, Paillier and updates under encryption, for either party";
  for (const PlanRow& row : plan.rows) EXPECT_TRUE(row.update.has_value());
}

class SharedState : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme(GetParam());
  MatMulSpec spec_ = shared_spec(4, 3, 2, 8);
  SeededRandom random_{6};

  static Bytes state_of(const MatMul& layer) {
    return write_to_bytes([&](ByteSink& out) { layer.save(out); });
  }
  static void load(MatMul& layer, const Bytes& bytes) {
    BufferSource in(bytes);
    layer.load(in);
    EXPECT_EQ(in.remaining(), 0U);
  }
  /// Steps of plain SGD, of which nothing but the weights remains.
  void take_steps(MatMulPair& pair, PlainWeights& plain, int steps) {
    const SgdOptions sgd{.learning_rate = 0.1};
    PieceSgd at_a(sgd);
    PieceSgd at_b(sgd);
    for (int i = 0; i < steps; ++i) {
      const SharedPass pass = make_shared_pass(spec_, Kind::kDense, 8, random_);
      const auto [z_a, z_b] = pair.forward(pass.x_a, pass.x_b);
      EXPECT_LT(largest_difference(decode_ring(open(z_a.share, z_b.share)), plain.output(pass, 2)), 2e-3);
      const auto [grad_a, grad_b] = backward_shared(pair, pass);
      at_a.step(pair.a, grad_a);
      at_b.step(pair.b, grad_b);
      plain.step(pass, sgd);
    }
  }
};

TEST_P(SharedState, IsResumedInANewSession) {
  MatMulPair first(*scheme_, spec_);
  PlainWeights plain(first.a, first.b);
  take_steps(first, plain, 3);
  const Bytes at_a = state_of(first.a);
  const Bytes at_b = state_of(first.b);
  MatMulPair second(*scheme_, spec_);
  load(second.a, at_a);
  load(second.b, at_b);
  EXPECT_EQ(state_of(second.a), at_a);
  EXPECT_EQ(state_of(second.b), at_b);
  take_steps(second, plain, 3);
}

TEST_P(SharedState, IsLoadedIntoALayerThatHasAlreadyRun) {
  MatMulPair pair(*scheme_, spec_);
  PlainWeights plain(pair.a, pair.b);
  take_steps(pair, plain, 1);
  const Bytes at_a = state_of(pair.a);
  const Bytes at_b = state_of(pair.b);
  PlainWeights ahead = plain;
  take_steps(pair, ahead, 1);
  // As many changes as before the load, and other pieces: what the peer has of the old ones is no longer good.
  load(pair.a, at_a);
  load(pair.b, at_b);
  take_steps(pair, plain, 2);
}

TEST_P(SharedState, OfTwoMomentsIsRefusedWhicheverPartysWeightsDiffer) {
  MatMulPair pair(*scheme_, spec_);
  PlainWeights plain(pair.a, pair.b);
  take_steps(pair, plain, 1);
  const Bytes earlier = state_of(pair.a);
  take_steps(pair, plain, 1);
  load(pair.a, earlier);
  load(pair.b, state_of(pair.b));
  const SharedPass pass = make_shared_pass(spec_, Kind::kDense, 8, random_);
  EXPECT_THAT(testing::message_of<ConfigError>([&] { (void)pair.forward(pass.x_a, pass.x_b); }),
              HasSubstr("saved state"));
}

TEST_P(SharedState, IsNotThatOfAnOpenTop) {
  MatMulPair shared(*scheme_, spec_);
  spec_.top = Top::kOpen;
  MatMulPair open_pair(*scheme_, spec_);
  const auto refusal = [](MatMul& layer, const Bytes& state) {
    return testing::message_of<DataError>([&] { load(layer, state); });
  };
  EXPECT_THAT(refusal(shared.b, state_of(open_pair.b)), HasSubstr("top is shared here"));
  EXPECT_THAT(refusal(open_pair.b, state_of(shared.b)), HasSubstr("shared in the saved state"));
}

INSTANTIATE_TEST_SUITE_P(AllSchemes, SharedState, ::testing::ValuesIn(testing::scheme_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace blindfl::protocol::shared_cost_test
