// What an Embed-MatMul layer under a shared top is said to cost is what crosses the link; and its state is that of the
// moment.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "blindfl/base/error.h"
#include "blindfl/protocol/layers/lookup_plan.h"
#include "blindfl/protocol/plan/embed_planner.h"
#include "protocol/shared_embed_fixture.h"
#include "testing/steps.h"
#include "testing/thrown.h"

namespace blindfl::protocol::shared_embed_cost_test {
namespace {

using ::testing::HasSubstr;

struct Case {
  std::string name;
  std::string scheme;
  TableChoices tables_a;
  TableChoices tables_b;
  double momentum = 0;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

class SharedEmbedCost : public ::testing::TestWithParam<Case> {
 protected:
  // The first is the default, whose keys both halves of a pair can have one after the other.
  std::vector<std::unique_ptr<he::Scheme>> owned_ = [] {
    std::vector<std::unique_ptr<he::Scheme>> schemes;
    for (const char* name : {"paillier", "lattice"}) schemes.push_back(testing::make_scheme(name));
    return schemes;
  }();
  std::vector<const he::Scheme*> schemes_{owned_[0].get(), owned_[1].get()};
  SeededRandom random_{4};

  /// Random OTs of looking up in a field's table, if it is by oblivious transfer.
  static std::uint64_t ots_of(const EmbedMatMulSpec& spec, const EmbedField& field) {
    return field.by_ot() ? lookup_plan(spec.batch, field.field.most, field.field.categories, spec.dimension).ots() : 0;
  }
  static std::uint64_t sent(EmbedPair& pair, Party from) {
    // Random OTs travel in whole tiles, now and then.
    const std::set<net::Step> once{steps::kHello,          steps::kPublicKey,      steps::kAgreement,
                                   steps::kObliviousHello, steps::kObliviousTrees, steps::kObliviousTiles};
    std::uint64_t bytes = 0;
    for (const auto& [what, traffic] : pair.parties.recording(from).sent()) {
      if (!once.contains(what)) bytes += traffic.bytes;
    }
    return bytes;
  }
};

TEST_P(SharedEmbedCost, IsWhatCrosses) {
  const Case& c = GetParam();
  EmbedMatMulSpec wanted = shared_embed_spec();
  wanted.derivative.largest = 4.0;
  wanted.sgd = {.learning_rate = 0.1, .momentum = c.momentum, .steps = 10};
  // By oblivious transfer the tables of A are chained, one of them with several categories in a row, the one of B is in
  // bins.
  ASSERT_GT(wanted.fields_a[1].field.most, 1U);
  if (c.tables_b.scheme == kByOt) {
    wanted.fields_b[0].field = {.name = "b0", .categories = 10000};
    ASSERT_EQ(lookup_plan(wanted.batch, 1, 10000, wanted.dimension).call.way(), ot::TableWay::kBins);
  }
  const EmbedPlan plan =
      plan_embed(wanted, {.scheme = c.scheme, .tables_a = c.tables_a, .tables_b = c.tables_b}, schemes_, Link{});
  EXPECT_EQ(plan.spec.top, Top::kShared);
  EXPECT_EQ(plan.cost.setup, StepCost{}) << "every piece changes at every step";
  EXPECT_EQ(plan.cost.step.rounds, 4);
  EXPECT_GT(plan.cost.exposure.lift_failure, 0);
  EXPECT_LT(plan.cost.exposure.lift_failure, 0x1p-40);
  EXPECT_LT(plan.cost.exposure.divergence, 0x1p-40);
  const LayerCost& weights = plan.weights().taken();
  EXPECT_EQ(weights.step.bytes_to_a, weights.step.bytes_to_b) << "both parties do the same";
  EXPECT_EQ(weights.memory_a, weights.memory_b);
  EmbedPair pair(schemes_, plan.spec, testing::make_channels());
  const PartyCost lifts = room_lift_cost(EmbedMatMulParams(plan.spec).lifts(plan.spec.batch));
  std::uint64_t to_b = plan.cost.step.bytes_to_b - ot_bytes(lifts.b_ots);
  std::uint64_t to_a = plan.cost.step.bytes_to_a - ot_bytes(lifts.a_ots);
  for (const EmbedField& field : plan.spec.fields_a) to_b -= ot_bytes(ots_of(plan.spec, field));
  for (const EmbedField& field : plan.spec.fields_b) to_a -= ot_bytes(ots_of(plan.spec, field));
  for (std::uint64_t steps = 1; steps <= 2; ++steps) {
    const SharedEmbedPass pass = make_shared_embed_pass(plan.spec, plan.spec.batch, random_);
    const auto [at_a, at_b] = forward_shared(pair, pass);
    const auto [grad_a, grad_b] = backward_shared(pair, at_a.pass, at_b.pass, pass.derivative);
    take_step(pair.at(Party::kA), grad_a, 0.1 / 8);
    take_step(pair.at(Party::kB), grad_b, 0.1 / 8);
    EXPECT_EQ(sent(pair, Party::kA), steps * to_b) << steps;
    EXPECT_EQ(sent(pair, Party::kB), steps * to_a) << steps;
  }
}

const TableChoices kLattice{.scheme = "lattice", .update = Update::kExchanged};
const TableChoices kPaillier{.scheme = "paillier", .update = Update::kExchanged};
const TableChoices kOblivious{.scheme = "ot", .update = Update::kExchanged};
const TableChoices kEncrypted{.scheme = "paillier", .update = Update::kEncrypted};

INSTANTIATE_TEST_SUITE_P(Options, SharedEmbedCost,
                         ::testing::Values(Case{"lattice", "lattice", kLattice, kLattice, 0.9},
                                           Case{"paillier", "paillier", kPaillier, kPaillier},
                                           Case{"ot", "lattice", kOblivious, kOblivious, 0.9},
                                           Case{"ot_of_a", "lattice", kOblivious, kLattice},
                                           Case{"ot_of_b", "lattice", kEncrypted, kOblivious, 0.9},
                                           Case{"encrypted_of_a", "lattice", kEncrypted, kLattice, 0.9},
                                           Case{"encrypted_of_b", "lattice", kPaillier, kEncrypted},
                                           Case{"encrypted_of_both", "lattice", kEncrypted, kEncrypted}),
                         [](const auto& c) { return c.param.name; });

// What it costs that nobody sees Z: with the parameters that users get, on a layer of ordinary size.
TEST(SharedEmbedPlan, TakesAtMostTwiceTheTrafficOfAnOpenTop) {
  const he::LatticeScheme lattice;
  EmbedMatMulSpec spec;
  spec.fields_a.resize(8, {.field = {.categories = 100}});
  spec.fields_b.resize(8, {.field = {.categories = 100}});
  spec.out = 32;
  spec.batch = 128;
  spec.sgd = {.learning_rate = 0.1, .momentum = 0.9, .steps = 10000};
  spec.derivative.largest = 4.0;
  const auto bytes = [&](Top top) {
    spec.top = top;
    return plan_embed(spec, {}, {&lattice}, Link{}).cost.step.bytes();
  };
  const std::uint64_t open = bytes(Top::kOpen);
  const std::uint64_t shared = bytes(Top::kShared);
  EXPECT_GT(shared, open);
  EXPECT_LT(shared, 2 * open);
}

class SharedEmbedState : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme(GetParam());
  EmbedMatMulSpec spec_ = shared_embed_spec();
  SeededRandom random_{6};

  static Bytes state_of(const EmbedMatMul& layer) {
    return write_to_bytes([&](ByteSink& out) { layer.save(out); });
  }
  static void load(EmbedMatMul& layer, const Bytes& bytes) {
    BufferSource in(bytes);
    layer.load(in);
    EXPECT_EQ(in.remaining(), 0U);
    EXPECT_EQ(state_of(layer), bytes);
  }
  void take_steps(SharedEmbedTraining& training, int steps) {
    for (int i = 0; i < steps; ++i) EXPECT_LT(training.step(make_shared_embed_pass(spec_, 8, random_)), 1e-3);
    EXPECT_LT(training.difference(), 5e-4);
  }
  static constexpr SgdOptions kPlainSgd{.learning_rate = 0.1};
};

TEST_P(SharedEmbedState, IsResumedInANewSession) {
  EmbedPair first(*scheme_, spec_);
  SharedEmbedTraining training(first, spec_, kPlainSgd);
  take_steps(training, 2);
  EmbedPair second(*scheme_, spec_);
  for (const Party party : {Party::kA, Party::kB}) load(second.at(party), state_of(first.at(party)));
  EXPECT_EQ(second.weight(), first.weight());
  SharedEmbedTraining resumed(second, spec_, kPlainSgd);
  take_steps(resumed, 2);
}

TEST_P(SharedEmbedState, IsLoadedIntoALayerThatHasAlreadyRun) {
  EmbedPair pair(*scheme_, spec_);
  SharedEmbedTraining training(pair, spec_, kPlainSgd);
  take_steps(training, 1);
  const Bytes at_a = state_of(pair.at(Party::kA));
  const Bytes at_b = state_of(pair.at(Party::kB));
  take_steps(training, 1);
  // As many changes as before the load, and other pieces: what the peer has of the old ones is no longer good.
  load(pair.at(Party::kA), at_a);
  load(pair.at(Party::kB), at_b);
  SharedEmbedTraining again(pair, spec_, kPlainSgd);
  take_steps(again, 2);
}

TEST_P(SharedEmbedState, OfTwoMomentsIsRefused) {
  EmbedPair pair(*scheme_, spec_);
  SharedEmbedTraining training(pair, spec_, kPlainSgd);
  take_steps(training, 1);
  const Bytes earlier = state_of(pair.at(Party::kA));
  take_steps(training, 1);
  load(pair.at(Party::kA), earlier);
  load(pair.at(Party::kB), state_of(pair.at(Party::kB)));
  const SharedEmbedPass pass = make_shared_embed_pass(spec_, 8, random_);
  EXPECT_THAT(testing::message_of<ConfigError>([&] { (void)forward_shared(pair, pass); }), HasSubstr("saved state"));
}

TEST_P(SharedEmbedState, IsNotThatOfAnOpenTop) {
  EmbedPair shared(*scheme_, spec_);
  spec_.top = Top::kOpen;
  EmbedPair open_pair(*scheme_, spec_);
  const auto refusal = [](EmbedMatMul& layer, const Bytes& state) {
    return testing::message_of<DataError>([&] { load(layer, state); });
  };
  EXPECT_THAT(refusal(shared.at(Party::kB), state_of(open_pair.at(Party::kB))), HasSubstr("top is shared here"));
  EXPECT_THAT(refusal(open_pair.at(Party::kB), state_of(shared.at(Party::kB))), HasSubstr("shared in the saved state"));
}

INSTANTIATE_TEST_SUITE_P(Schemes, SharedEmbedState, ::testing::Values("plain", "lattice"),
                         [](const auto& info) { return info.param; });

// The same keys, another session: what was learned under encryption is there, and training goes on.
TEST(SharedEmbedStateUnderEncryption, IsResumedWithTheSameKeys) {
  const auto scheme = testing::make_scheme("paillier");
  EmbedMatMulSpec spec = shared_embed_spec();
  spec.fields_a[0].update = spec.fields_b[0].update = Update::kEncrypted;
  spec.sgd = {.learning_rate = 0.1, .steps = 10};
  spec.derivative.largest = 2.0;
  SeededRandom random(8);
  std::pair<Bytes, Bytes> state;
  testing::SavedKeys keys;
  std::vector<double> table_a;
  std::vector<double> table_b;
  {
    EmbedPair first(*scheme, spec);
    SharedEmbedTraining training(first, spec, spec.sgd);
    EXPECT_LT(training.step(make_shared_embed_pass(spec, 8, random)), 1e-3);
    table_a = first.table(0);
    table_b = first.table(2);
    const auto state_of = [&](Party party) {
      return write_to_bytes([&](ByteSink& out) { first.at(party).save(out); });
    };
    state = {state_of(Party::kA), state_of(Party::kB)};
    const auto keys_of = [&](Party party) {
      const Bytes saved = write_to_bytes([&](ByteSink& out) { first.parties.session(party).save_keys(out); });
      return std::make_shared<const SecretVector<std::byte>>(saved.begin(), saved.end());
    };
    keys = {keys_of(Party::kA), keys_of(Party::kB)};
  }
  EmbedPair second({scheme.get()}, spec, testing::make_channels(), keys);
  for (const Party party : {Party::kA, Party::kB}) {
    BufferSource in(party == Party::kA ? state.first : state.second);
    second.at(party).load(in);
    EXPECT_EQ(in.remaining(), 0U);
  }
  EXPECT_EQ(second.table(0), table_a);
  EXPECT_EQ(second.table(2), table_b);
  // What is compared starts from the loaded weights: without momentum nothing else is left of the steps before.
  SharedEmbedTraining resumed(second, spec, spec.sgd);
  EXPECT_LT(resumed.step(make_shared_embed_pass(spec, 8, random)), 1e-3);
  EXPECT_LT(resumed.difference(), 5e-4);
}

}  // namespace
}  // namespace blindfl::protocol::shared_embed_cost_test
