// What a job will cost: the bytes of the planner, every kind of model, and what `blindfl plan` says of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "blindfl/app/commands/run.h"
#include "blindfl/app/plan/estimate.h"
#include "blindfl/app/plan/job_layers.h"
#include "blindfl/app/plan/plan_text.h"
#include "blindfl/app/plan/shape_options.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/he/paillier/paillier_scheme.h"
#include "blindfl/mpc/top_plan.h"
#include "testing/scratch_folder.h"
#include "testing/thrown.h"

namespace blindfl::app::plan_test {
namespace {

using job::ModelKind;
using protocol::Party;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr protocol::Link kLink{.bits_per_second = 1e9, .round_trip = 1e-3};

PartyShape numeric_shape(std::size_t features) {
  PartyShape shape;
  shape.numeric = features;
  return shape;
}

PartyShape mixed_shape() {
  PartyShape shape = numeric_shape(5);
  shape.fields = parse_fields("100,20:3", "fields");
  return shape;
}

job::Shared shared_of(ModelKind kind) {
  job::Shared shared;
  shared.model.kind = kind;
  shared.model.top = protocol::Top::kOpen;
  if (kind == ModelKind::kMlr) shared.model.classes = 5;
  shared.training.epochs = 10;
  shared.training.test_share = 0;
  shared.training.momentum = 0;
  return shared;
}

std::uint64_t opened(std::size_t batch, std::size_t out) {
  return std::uint64_t{8} * batch * out;
}

TEST(JobLayers, OfEachModelAreTheOnesThatItBuilds) {
  struct Case {
    ModelKind kind;
    std::size_t numeric;
    std::size_t categories;
  };
  for (const Case& c : {Case{ModelKind::kLr, 1, 0}, Case{ModelKind::kMlr, 5, 0}, Case{ModelKind::kLinear, 1, 0},
                        Case{ModelKind::kPoisson, 1, 0}, Case{ModelKind::kMlp, 64, 0}, Case{ModelKind::kWdl, 1, 64},
                        Case{ModelKind::kDlrm, 64, 64}, Case{ModelKind::kFm, 9, 0}, Case{ModelKind::kDeepfm, 9, 64}}) {
    const bool embeds = c.categories > 0;
    const PartyShape a = embeds ? mixed_shape() : numeric_shape(7);
    const JobLayers layers = job_layers(shared_of(c.kind), a, numeric_shape(3), 1000);
    ASSERT_TRUE(layers.numeric.has_value());
    EXPECT_EQ(layers.numeric->out, c.numeric);
    EXPECT_EQ(layers.numeric->shapes.front().in_a, a.numeric);
    EXPECT_EQ(layers.numeric->shapes.front().in_b, 3U);
    ASSERT_EQ(layers.categories.has_value(), embeds);
    if (embeds) {
      EXPECT_EQ(layers.categories->out, c.categories);
      EXPECT_EQ(layers.categories->shapes.front().fields_a.size(), 2U);
    }
  }
}

TEST(JobLayers, CountStepsOfTheRowsThatAreTrainedOn) {
  job::Shared shared = shared_of(ModelKind::kLr);
  shared.training.batch = 100;
  shared.training.epochs = 3;
  shared.training.validation_share = 0.25;
  shared.training.schedule = {{.epoch = 2, .step = {}, .learning_rate = 0.01}};
  const JobLayers layers = job_layers(shared, numeric_shape(4), numeric_shape(4), 1001);
  EXPECT_EQ(layers.training_rows, 751U);
  EXPECT_EQ(layers.steps_per_epoch, 8U);
  EXPECT_EQ(layers.sgd.steps, 24U);
  ASSERT_EQ(layers.sgd.schedule.size(), 1U);
  EXPECT_EQ(layers.sgd.schedule.front().step, 8U);
  EXPECT_EQ(layers.numeric->options.sgd.steps, 24U);
}

TEST(JobLayers, CallSchemesAsSessionsDo) {
  job::Shared shared = shared_of(ModelKind::kLr);
  shared.scheme.allowed = {"lattice", "paillier-3072"};
  shared.scheme.features_a = "paillier-3072";
  const JobLayers layers = job_layers(shared, numeric_shape(4), numeric_shape(4), 100);
  EXPECT_EQ(layers.numeric->options.scheme_a, "paillier");
  EXPECT_EQ(layers.numeric->options.scheme_b, "") << "left to the planner";
  EXPECT_EQ(layers.numeric->options.update, std::nullopt);
  shared.scheme.automatic = false;
  const JobLayers fixed = job_layers(shared, numeric_shape(4), numeric_shape(4), 100);
  EXPECT_EQ(fixed.numeric->options.scheme_b, "lattice");
  EXPECT_EQ(fixed.numeric->options.update, protocol::Update::kExchanged);
  EXPECT_EQ(job_schemes(shared.scheme).front()->name(), "lattice");
}

/// Of the schemes that a job makes.
std::vector<int> securities(const job::Scheme& scheme) {
  std::vector<int> bits;
  for (const auto& made : job_schemes(scheme)) bits.push_back(made->security_bits());
  return bits;
}

TEST(JobLayers, HaveNoShortKeysWhereTheJobAsksFor128Bits) {
  job::Scheme scheme;
  EXPECT_EQ(securities(scheme), (std::vector<int>{128, 112}));
  scheme.security = job::Security::k128;
  EXPECT_EQ(securities(scheme), (std::vector<int>{128, 128}));
  EXPECT_EQ(scheme.allowed_schemes(), (std::vector<std::string>{"lattice", "paillier-3072"}));
  scheme.features_a = scheme.default_scheme = "paillier-3072";
  EXPECT_EQ(securities(scheme), (std::vector<int>{128, 128}));
}

TEST(JobLayers, CountThePassesOfTheRun) {
  job::Shared shared = shared_of(ModelKind::kLr);
  shared.training.batch = 100;
  shared.training.epochs = 3;
  shared.training.validation_share = 0.25;
  const JobLayers layers = job_layers(shared, numeric_shape(4), numeric_shape(4), 1001);
  // 751 rows in 8 batches, and 250 of validation in 3; as many again for tests, scoring and steps after resume.
  EXPECT_EQ(layers.run.passes, 2U * 3 * (8 + 3));
  EXPECT_EQ(layers.run.layers, 1U);
  EXPECT_EQ(layers.numeric->options.run.passes, layers.run.passes);
  const JobLayers two = job_layers(shared_of(ModelKind::kWdl), mixed_shape(), numeric_shape(3), 1000);
  EXPECT_EQ(two.run.layers, 2U);
  EXPECT_EQ(two.categories->options.run.layers, 2U);
}

TEST(JobLayers, RefuseWhatAModelCannotTake) {
  const auto refusal = [](ModelKind kind, const PartyShape& a, const PartyShape& b) {
    return testing::message_of<ConfigError>([&] { (void)job_layers(shared_of(kind), a, b, 100); });
  };
  EXPECT_THAT(refusal(ModelKind::kLr, numeric_shape(1), mixed_shape()),
              AllOf(HasSubstr("B has categorical"), HasSubstr("one_hot: true")));
  EXPECT_THAT(refusal(ModelKind::kWdl, numeric_shape(1), numeric_shape(1)), HasSubstr("needs categorical columns"));
  EXPECT_THAT(refusal(ModelKind::kMlp, {}, {}), HasSubstr("neither party has a feature"));
  EXPECT_THAT(refusal(ModelKind::kFm, mixed_shape(), numeric_shape(1)), HasSubstr("one_hot: true"));
  PartyShape fields = mixed_shape();
  fields.numeric = 0;
  EXPECT_THAT(refusal(ModelKind::kDeepfm, fields, fields),
              AllOf(HasSubstr("deepfm needs numeric columns, or one_hot: true for some"), HasSubstr("take wdl")));
}

// Nobody sees a derivative there, and so nothing else would notice one that is larger.
TEST(JobLayers, OfAFactorisationMachineOnSharesHaveRoomForItsDerivatives) {
  job::Shared shared = shared_of(ModelKind::kFm);
  shared.training.derivative.largest = 15;
  EXPECT_NO_THROW((void)job_layers(shared, numeric_shape(4), numeric_shape(4), 100)) << "B sees each under an open top";
  shared.model.top = protocol::Top::kShared;
  const auto refusal = [&] {
    return testing::message_of<ConfigError>([&] { (void)job_layers(shared, numeric_shape(4), numeric_shape(4), 100); });
  };
  EXPECT_THAT(refusal(), AllOf(HasSubstr("shared.training.derivative.largest: under a shared top nobody sees"),
                               HasSubstr("as large as 16; take that at least")));
  shared.training.row_weights = true;
  EXPECT_THAT(refusal(), HasSubstr("as large as 256"));
  shared.training.derivative.largest = 256;
  EXPECT_EQ(job_layers(shared, numeric_shape(4), numeric_shape(4), 100).top->shape.factors, 8U);
}

TEST(Estimate, HasThePlannersBytesAndThoseOfOpening) {
  const job::Shared shared = shared_of(ModelKind::kMlp);
  const PartyShape a = numeric_shape(392);
  const PartyShape b = numeric_shape(20);
  const JobEstimate all = estimate(shared, a, b, 1280, kLink);

  const he::LatticeScheme lattice;
  const JobLayers layers = job_layers(shared, a, b, 1280);
  const auto schemes = job_schemes(shared.scheme);
  const protocol::LayerPlan plan =
      plan_source(layers.numeric->shapes.front(), layers.numeric->out, layers.numeric->options, pointers_to(schemes));
  ASSERT_EQ(plan.spec.scheme_a, "lattice");
  ASSERT_EQ(plan.spec.scheme_b, "lattice");
  const protocol::MatMulParams params(plan.spec);
  protocol::LayerCost cost = cost_of(params, Party::kA, lattice);
  cost += cost_of(params, Party::kB, lattice);
  EXPECT_EQ(all.per_step.bytes_to_a, cost.step.bytes_to_a);
  EXPECT_EQ(all.per_step.bytes_to_b, cost.step.bytes_to_b + opened(128, 64));
  EXPECT_DOUBLE_EQ(all.per_step.seconds_a, cost.step.seconds_a);
  EXPECT_EQ(all.per_step.rounds, cost.step.rounds);
  std::uint64_t keys = 0;
  for (const std::string set : {"4096/100", "8192/132"}) keys += lattice.public_key_bytes(set);
  EXPECT_EQ(all.setup.bytes(), cost.setup.bytes() + 2 * keys) << "a key for each set in use";
  EXPECT_EQ(all.steps_per_epoch, 10U);
  EXPECT_EQ(all.bytes_to_b_per_epoch, all.per_step.bytes_to_b * 10);
  EXPECT_EQ(all.bytes_to_a, all.setup.bytes_to_a + all.bytes_to_a_per_epoch * 10);
  const std::uint64_t kept = std::uint64_t{layers.training_rows} * 64 * 16;
  EXPECT_EQ(all.memory_a, cost.memory_a + std::uint64_t{412} * 64 * 16 * 2 + kept);
  EXPECT_EQ(layers.numeric->options.run.kept_rows, layers.training_rows);
  EXPECT_GT(cost.setup.bytes_to_a, 0U) << "products of all training rows with B's features";
  EXPECT_EQ(all.layers.front().rows, plan.rows);
}

TEST(Estimate, OfSeveralAsHasThatOfEachPair) {
  const job::Shared shared = shared_of(ModelKind::kWdl);
  const ShapesOfA both({mixed_shape(), numeric_shape(40)}, {"shop", "bank"});
  const PartyShape b = mixed_shape();
  const JobEstimate all = estimate(shared, both, b, 5000, kLink);
  ASSERT_EQ(all.per_pair.size(), 2U);
  EXPECT_EQ(all.per_step.bytes_to_a, all.per_pair[0].bytes_to_a + all.per_pair[1].bytes_to_a) << "B's line has all";
  EXPECT_EQ(all.per_step.bytes_to_b, all.per_pair[0].bytes_to_b + all.per_pair[1].bytes_to_b);
  EXPECT_EQ(all.per_step.rounds, std::max(all.per_pair[0].rounds, all.per_pair[1].rounds)) << "at the same time";
  const double slowest = std::max(all.per_pair[0].seconds(kLink), all.per_pair[1].seconds(kLink));
  EXPECT_GE(all.per_step.seconds(kLink), slowest);
  EXPECT_LT(all.per_step.seconds(kLink), all.per_pair[0].seconds(kLink) + all.per_pair[1].seconds(kLink));

  std::vector<std::string> names;
  for (const LayerEstimate& layer : all.layers) names.push_back(layer.name);
  EXPECT_THAT(names, ::testing::ElementsAre("wide with shop", "deep with shop", "wide with bank"))
      << "the bank has no fields, and B's tables are shared with the first A";
  const std::uint64_t openings = opened(128, 1) + opened(128, 64);
  EXPECT_GT(all.per_pair[1].bytes_to_b, openings) << "its share of the deep layer's output is opened all the same";
  EXPECT_NE(estimate_text(all).find("from the A's to B"), std::string::npos);

  const JobEstimate one = estimate(shared, mixed_shape(), b, 5000, kLink);
  ASSERT_EQ(one.per_pair.size(), 1U);
  EXPECT_EQ(one.per_pair.front(), one.per_step);
}

TEST(Estimate, OfEmbeddingsHasThePlannersCost) {
  const job::Shared shared = shared_of(ModelKind::kDlrm);
  const JobLayers layers = job_layers(shared, mixed_shape(), mixed_shape(), 1000);
  const auto schemes = job_schemes(shared.scheme);
  const protocol::EmbedPlan plan = plan_source(layers.categories->shapes.front(), layers.categories->out,
                                               layers.categories->options, pointers_to(schemes));
  const JobEstimate all = estimate(shared, mixed_shape(), mixed_shape(), 1000, kLink);
  ASSERT_EQ(all.layers.size(), 2U);
  EXPECT_EQ(all.layers[0].name, "numeric");
  EXPECT_EQ(all.layers[1].name, "embedded");
  const protocol::StepCost& step = all.layers[1].cost.step;
  EXPECT_EQ(step.bytes(), plan.cost.step.bytes() + opened(128, 64));
  EXPECT_NEAR(step.seconds_a, plan.cost.step.seconds_a, 1e-12);
  EXPECT_EQ(all.layers[1].cost.memory_b, plan.cost.memory_b);
}

TEST(Estimate, OfEveryModelIsPossibleWithDefaults) {
  for (const ModelKind kind :
       {ModelKind::kLr, ModelKind::kMlr, ModelKind::kLinear, ModelKind::kPoisson, ModelKind::kMlp, ModelKind::kWdl,
        ModelKind::kDlrm, ModelKind::kFm, ModelKind::kDeepfm}) {
    const bool embeds = job::has_embeddings(kind);
    const PartyShape shape = embeds ? mixed_shape() : numeric_shape(30);
    const JobEstimate all = estimate(shared_of(kind), shape, shape, 5000, kLink);
    EXPECT_EQ(all.layers.size(), embeds ? 2U : 1U);
    EXPECT_GT(all.seconds, all.seconds_per_epoch);
    EXPECT_GT(all.per_step.bytes_to_a, 0U);
  }
}

TEST(Estimate, CountsWithTheMachine) {
  const job::Shared shared = shared_of(ModelKind::kMlp);
  const JobEstimate expected = estimate(shared, numeric_shape(50), numeric_shape(50), 1000, kLink);
  MachineSpeed slow;
  slow.factors = {{"lattice", 3.0}};
  const JobEstimate slower = estimate(shared, numeric_shape(50), numeric_shape(50), 1000, kLink, slow);
  EXPECT_DOUBLE_EQ(slower.per_step.seconds_a, 3 * expected.per_step.seconds_a);
  EXPECT_EQ(slower.per_step.bytes(), expected.per_step.bytes());
  EXPECT_EQ(slower.layers.front().words, expected.layers.front().words) << "both parties must choose alike";
}

TEST(Estimate, LinkChangesTheTimeAndNotTheChoice) {
  const job::Shared shared = shared_of(ModelKind::kLr);
  const JobEstimate fast = estimate(shared, numeric_shape(50), numeric_shape(50), 1000, kLink);
  const JobEstimate slow =
      estimate(shared, numeric_shape(50), numeric_shape(50), 1000, {.bits_per_second = 1e6, .round_trip = 0.1});
  EXPECT_GT(slow.seconds, 2 * fast.seconds);
  EXPECT_EQ(slow.per_step.bytes(), fast.per_step.bytes());
  job::Shared elsewhere = shared;
  elsewhere.scheme.line_speed = 1;
  const JobEstimate chosen = estimate(elsewhere, numeric_shape(50), numeric_shape(50), 1000, kLink);
  EXPECT_LT(chosen.per_step.bytes(), fast.per_step.bytes());
  EXPECT_THAT(chosen.layers.front().words, HasSubstr("paillier"));
}

TEST(Estimate, IsWrittenForAScreen) {
  JobEstimate all = estimate(shared_of(ModelKind::kLr), numeric_shape(300), numeric_shape(40), 100000, kLink);
  EXPECT_EQ(all.layers.front().words, "A's 300 features: exchanged over lattice; B's 40 features: over lattice");
  const std::string text = estimate_text(all);
  EXPECT_THAT(text, ::testing::StartsWith("layer   features          way "));
  EXPECT_THAT(text,
              ::testing::ContainsRegex(
                  "\nsource  A's 300 features  exchanged over lattice +[0-9.]+ ms +[0-9.]+ kB  chosen\n +exchanged "
                  "over paillier "));
  EXPECT_THAT(text, ::testing::ContainsRegex("\n +B's 40 features   over lattice "));
  EXPECT_THAT(text, HasSubstr("\nsteps               7,820: 10 epochs of 782\n"
                              "link                1 Gbit/s, 1 ms there and back\n"
                              "machine             as the schemes expect, not measured\n"));
  EXPECT_THAT(text, HasSubstr("from B to A"));
  EXPECT_THAT(text, Not(HasSubstr("e+")));
  all.seconds = 7500;
  all.speed.factors = {{"lattice", 1.25}, {"paillier", 5.5}};
  EXPECT_THAT(estimate_text(all), AllOf(HasSubstr(" 2 h 05 min\n"), HasSubstr("lattice takes 1.2 times"),
                                        HasSubstr("paillier takes 5.5 times what it expects (measured)")));
}

job::Shared shared_top_of(ModelKind kind) {
  job::Shared shared = shared_of(kind);
  shared.model.top = protocol::Top::kShared;
  shared.model.hidden = {8, 4};
  return shared;
}

TEST(Estimate, HasASharedTopAsItsLastLayer) {
  const job::Shared shared = shared_top_of(ModelKind::kMlp);
  const PartyShape shape = numeric_shape(20);
  const JobEstimate all = estimate(shared, shape, shape, 2560, kLink);
  ASSERT_EQ(all.layers.size(), 2U);
  const LayerEstimate& source = all.layers.front();
  const LayerEstimate& top = all.layers.back();
  EXPECT_EQ(top.name, "top");
  EXPECT_EQ(top.words, "the layers 8-4-1, relu, and the loss, on shares: over lattice");

  const JobLayers layers = job_layers(shared, shape, shape, 2560);
  ASSERT_TRUE(layers.top.has_value());
  EXPECT_EQ(layers.top->options.run.layers, layers.run.layers);
  const he::LatticeScheme lattice;
  const mpc::TopPlan plan(lattice, layers.top->shape, layers.top->options);
  const mpc::TopCost mean = plan.mean_step(all.steps_per_epoch);
  EXPECT_NEAR(static_cast<double>(top.cost.step.bytes_to_a), mean.bytes_to_a, 0.5);
  EXPECT_NEAR(static_cast<double>(top.cost.step.bytes_to_b), mean.bytes_to_b, 0.5);
  EXPECT_NEAR(top.cost.step.rounds, mean.flights / 2, 0.5);
  EXPECT_EQ(top.cost.step.seconds_a, mean.seconds_a);
  EXPECT_EQ(top.cost.setup.bytes_to_a, protocol::OtPools::setup_bytes());
  EXPECT_EQ(all.per_step.bytes(), source.cost.step.bytes() + top.cost.step.bytes());
  EXPECT_EQ(all.per_step.rounds, source.cost.step.rounds + top.cost.step.rounds);
  EXPECT_GT(all.exposure.divergence, source.cost.exposure.divergence);
  EXPECT_GT(all.memory_a, source.cost.memory_a + top.cost.memory_a);
  EXPECT_EQ(all.schemes.size(), 1U);
}

TEST(Estimate, OfASharedTopTakesTimeAsTheMachineDoes) {
  const job::Shared shared = shared_top_of(ModelKind::kMlp);
  const PartyShape shape = numeric_shape(20);
  const protocol::StepCost fast = estimate(shared, shape, shape, 2560, kLink).layers.back().cost.step;
  const protocol::StepCost slow =
      estimate(shared, shape, shape, 2560, kLink, {.factors = {{"lattice", 2.0}}}).layers.back().cost.step;
  EXPECT_DOUBLE_EQ(slow.seconds_a, 2 * fast.seconds_a);
  EXPECT_DOUBLE_EQ(slow.together, 2 * fast.together);
  EXPECT_LT(fast.seconds(kLink), fast.seconds_a + fast.seconds_b +
                                     8 * static_cast<double>(fast.bytes()) / kLink.bits_per_second +
                                     fast.rounds * kLink.round_trip);
}

TEST(Estimate, OfEachModelWithASharedTopCountsItsLoss) {
  const PartyShape shape = numeric_shape(5);
  const auto top_of = [&](ModelKind kind) {
    return estimate(shared_top_of(kind), shape, shape, 1000, kLink).layers.back();
  };
  // Integers that add up to the derivative; and looks at the range of scores, for which random OTs are set up.
  EXPECT_GT(top_of(ModelKind::kLinear).cost.step.bytes(), 128U * 8);
  EXPECT_LT(top_of(ModelKind::kLinear).cost.step.bytes(), top_of(ModelKind::kLr).cost.step.bytes());
  EXPECT_EQ(top_of(ModelKind::kLinear).cost.setup, top_of(ModelKind::kLr).cost.setup);
  EXPECT_EQ(top_of(ModelKind::kLr).words, "the loss, on shares: over lattice");
  EXPECT_GT(top_of(ModelKind::kMlr).cost.step.rounds, top_of(ModelKind::kLr).cost.step.rounds);
  EXPECT_GT(top_of(ModelKind::kPoisson).cost.step.bytes(), 100000U);
  const JobEstimate deep = estimate(shared_top_of(ModelKind::kWdl), mixed_shape(), shape, 1000, kLink);
  ASSERT_EQ(deep.layers.size(), 3U);
  EXPECT_EQ(deep.layers.back().name, "top");
}

// Bank marketing: 45,211 rows, nine categorical columns and seven numeric ones, divided between the parties.
TEST(OneHot, IsSaidToBeCheaperWhereItIs) {
  PartyShape a = numeric_shape(3);
  a.fields = parse_fields("13,4,5,3,3,3", "fields");
  PartyShape b = numeric_shape(4);
  b.fields = parse_fields("4,13,5", "fields");
  job::Shared shared = shared_of(ModelKind::kWdl);
  shared.training.epochs = 1;
  const JobEstimate embedded = estimate(shared, a, b, 45211, kLink);
  const auto one_hot = cheaper_one_hot(shared, a, b, 45211, kLink);
  ASSERT_EQ(one_hot.size(), 2U);
  EXPECT_EQ(one_hot[0].kind, ModelKind::kMlp) << "the nearest to embeddings first";
  EXPECT_EQ(one_hot[1].kind, ModelKind::kLr);
  for (const OneHotEstimate& each : one_hot) {
    EXPECT_LT(each.estimate.seconds * 1.5, embedded.seconds);
    EXPECT_LT(each.estimate.bytes_to_a + each.estimate.bytes_to_b, embedded.bytes_to_a + embedded.bytes_to_b);
    EXPECT_EQ(each.estimate.rows, embedded.rows);
  }
  EXPECT_LT(one_hot[1].estimate.bytes_to_a * 10, embedded.bytes_to_a);
  const std::string line = one_hot_text(embedded, one_hot);
  EXPECT_EQ(std::ranges::count(line, '\n'), 1) << "one line";
  EXPECT_THAT(line, AllOf(::testing::StartsWith("One-hot columns (one_hot: true) would take about "),
                          HasSubstr(" (model.kind: mlp) or "), HasSubstr(" (model.kind: lr) in place of "),
                          HasSubstr(" GB and ")));
}

TEST(OneHot, IsNotMentionedForOtherModelsNorWhereItIsNoCheaper) {
  EXPECT_TRUE(cheaper_one_hot(shared_of(ModelKind::kMlp), numeric_shape(30), numeric_shape(3), 1000, kLink).empty());
  PartyShape large = numeric_shape(1);
  large.fields = parse_fields("1000000,1000000", "fields");
  job::Shared once = shared_of(ModelKind::kDlrm);
  once.training.epochs = 1;  // over more, what comes before the first step pays
  EXPECT_TRUE(cheaper_one_hot(once, large, large, 1000, kLink).empty());
  EXPECT_EQ(one_hot_text({}, {}), "");
}

TEST(Estimate, SaysHowMuchTheRunHides) {
  // One-hot features of a small job: room for all of it.
  PartyShape binary = numeric_shape(60);
  binary.encoding = {.scale = 0, .largest = 1.0, .clip = false};
  const JobEstimate small = estimate(shared_of(ModelKind::kLr), binary, binary, 10000, kLink);
  EXPECT_TRUE(hides_enough(small.exposure));
  EXPECT_THAT(estimate_text(small), HasSubstr("\nsecurity            lattice 128 bits\nhiding              "));
  EXPECT_THAT(estimate_text(small), HasSubstr(" (for the whole run)\n"));
  // A million rows of real numbers: as well. What has no room is refused.
  const JobEstimate large =
      estimate(shared_of(ModelKind::kMlp), numeric_shape(392), numeric_shape(392), 1000000, kLink);
  EXPECT_TRUE(hides_enough(large.exposure));
  EXPECT_GT(large.exposure.divergence, small.exposure.divergence);
  EXPECT_LT(large.exposure.total_distance(), 0x1p-20);
  // Two layers add up.
  const JobEstimate two = estimate(shared_of(ModelKind::kWdl), mixed_shape(), mixed_shape(), 5000, kLink);
  EXPECT_EQ(two.exposure, two.layers[0].cost.exposure + two.layers[1].cost.exposure);
}

TEST(Estimate, SaysWhichSchemesHaveWhatSecurity) {
  job::Shared shared = shared_of(ModelKind::kLr);
  shared.scheme.line_speed = 1;
  const JobEstimate short_keys = estimate(shared, numeric_shape(50), numeric_shape(50), 1000, kLink);
  EXPECT_TRUE(has_short_keys(short_keys.schemes));
  EXPECT_THAT(estimate_text(short_keys),
              AllOf(HasSubstr("paillier 112 bits (NIST: until 2030)"), HasSubstr("shared.scheme.security: 128")));
  shared.scheme.security = job::Security::k128;
  const JobEstimate long_keys = estimate(shared, numeric_shape(50), numeric_shape(50), 1000, kLink);
  EXPECT_FALSE(has_short_keys(long_keys.schemes));
  EXPECT_THAT(estimate_text(long_keys), AllOf(HasSubstr("128 bits"), Not(HasSubstr("NIST"))));
}

TEST(MachineSpeed, IsMeasuredWithRealKeys) {
  const he::LatticeScheme lattice;
  Random random;
  const MachineSpeed speed = measure_speed({&lattice}, random);
  EXPECT_GT(speed.factor("lattice"), 0.05);
  EXPECT_LT(speed.factor("lattice"), 1000);
  EXPECT_EQ(speed.factor("paillier"), 1.0);
}

class Plan : public ::testing::Test {
 protected:
  struct Result {
    int code = 0;
    std::string out;
    std::string err;
  };
  Result call(std::vector<std::string> more, const std::string& party = "a") const {
    const auto job = folder_.write("job.yaml",
                                   "shared:\n  model: {kind: lr, top: open}\n  alignment: {mode: aligned}\n"
                                   "private:\n  party: " +
                                       party + "\n  data: {train: x.csv, numeric: {scale: 0, largest: 1}" +
                                       (party == "b" ? ", label_column: y" : "") +
                                       "}\n  link: {dial: 'localhost:7000', plaintext: true}\n");
    std::vector<std::string> args{"plan", "--job", job.string(), "--no-measure"};
    args.insert(args.end(), more.begin(), more.end());
    std::ostringstream out;
    std::ostringstream err;
    const int code = run(args, out, err);
    return {code, out.str(), err.str()};
  }
  testing::ScratchFolder folder_;
};

TEST_F(Plan, TellsWhatAJobTakes) {
  const Result result = call({"--features", "500000", "--nonzeros", "7", "--peer-features", "62", "--rows", "1280"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_THAT(result.out, HasSubstr("encrypted updates over paillier"));
  EXPECT_THAT(result.out, HasSubstr("1,008: 112 epochs of 9\n"));
  EXPECT_THAT(result.out, HasSubstr("in all"));
}

TEST_F(Plan, TellsAWhatBCouldWorkOutInOneLine) {
  const std::vector<std::string> shape{"--features", "11", "--peer-features", "22", "--rows", "100"};
  EXPECT_THAT(call(shape).out,
              HasSubstr("\nOpen top: B could recover features of A that are 0 or 1 exactly; (a) is not known "
                        "to apply: 1 output for 11 features of A; (b) applies: the same rows are opened in "
                        "at least 1000 epochs. private.accept is nothing: `train` will refuse to start.\n"));
  std::vector<std::string> accepted = shape;
  accepted.insert(accepted.end(), {"--set", "private.accept=open_top"});
  EXPECT_THAT(call(accepted).out, HasSubstr("private.accept is open_top.\n"));
  EXPECT_THAT(call(shape, "b").out, Not(HasSubstr("Open top")));
}

TEST_F(Plan, CountsASharedTop) {
  std::vector<std::string> shape{"--features", "11", "--peer-features", "22", "--rows", "2000"};
  EXPECT_THAT(call(shape).out, AllOf(HasSubstr("B's own layers"), Not(HasSubstr("\ntop "))));
  shape.insert(shape.end(), {"--set", "shared.model.top=shared"});
  const std::string shared = call(shape).out;
  EXPECT_THAT(shared, ::testing::ContainsRegex(
                          "\ntop     the loss, on shares  over lattice +[0-9.]+ ms +[0-9.]+ kB  chosen\n"));
  EXPECT_THAT(shared, ::testing::ContainsRegex("\nround trips +[0-9]+ +[0-9,]+ +[0-9,]+\n"));
  EXPECT_THAT(shared, AllOf(HasSubstr("\nShared top: B learns the scores of rows"), Not(HasSubstr("Open top")),
                            Not(HasSubstr("B's own layers"))));
}

TEST_F(Plan, PutsTheShapesWhereThePartyIs) {
  const Result result = call({"--features", "11", "--peer-features", "22", "--rows", "100"}, "b");
  EXPECT_THAT(result.out, AllOf(HasSubstr("A's 22 features"), HasSubstr("B's 11 features")));
}

TEST_F(Plan, TakesThePeerToBeAlikeIfNothingIsSaid) {
  const Result result = call({"--features", "11", "--rows", "100", "--link", "100", "--round-trip", "50"});
  EXPECT_THAT(result.out, AllOf(HasSubstr("The peer is taken to have what this party has"),
                                HasSubstr("B's 11 features"), HasSubstr("100 Mbit/s, 50 ms")));
}

TEST_F(Plan, SaysWhatIsWrongWithItsOptions) {
  const auto complaint = [&](std::vector<std::string> more) {
    const Result result = call(std::move(more));
    EXPECT_NE(result.code, kDone);
    EXPECT_EQ(result.out.find("in all"), std::string::npos);
    return result.err;
  };
  EXPECT_THAT(complaint({"--rows", "10"}), HasSubstr("x.csv: there is no such file"));
  EXPECT_THAT(complaint({"--features", "3"}), HasSubstr("x.csv: there is no such file"));
  EXPECT_THAT(complaint({"--features", "3", "--rows", "0"}), HasSubstr("--rows needs a whole number from 1"));
  EXPECT_THAT(complaint({"--features", "3", "--nonzeros", "4", "--rows", "5"}), HasSubstr("from 1 to 3"));
  EXPECT_THAT(complaint({"--nonzeros", "4", "--rows", "5"}), HasSubstr("--nonzeros needs --features"));
  EXPECT_THAT(complaint({"--fields", "10:x", "--rows", "5"}), HasSubstr("--fields needs fields as 100,20:3"));
  EXPECT_THAT(complaint({"--fields", "10,20", "--rows", "5"}), HasSubstr("one_hot: true"));
  EXPECT_THAT(complaint({"--features", "3", "--rows", "5", "--link", "fast"}), HasSubstr("--link needs a number"));
  EXPECT_THAT(complaint({"--features", "3", "--rows", "5", "--link", "0"}), HasSubstr("--link needs a number"));
  EXPECT_THAT(complaint({"--features", "3", "--rows", "5", "--peer-largest", "-1"}), HasSubstr("--peer-largest needs"));
  EXPECT_THAT(complaint({"--features", "3", "--rows", "5", "--scale", "60", "--largest", "1e6"}), HasSubstr("2^62"));
}

TEST(ShapeOptions, FieldsSayCategoriesAndHowManyARowMayHave) {
  const std::vector<CategoryField> fields = parse_fields("100,20:3,30:5:mean", "fields");
  ASSERT_EQ(fields.size(), 3U);
  EXPECT_EQ(fields[0].categories, 100U);
  EXPECT_EQ(fields[0].most, 1U);
  EXPECT_EQ(fields[1].most, 3U);
  EXPECT_EQ(fields[1].pooling, Pooling::kSum);
  EXPECT_EQ(fields[2].pooling, Pooling::kMean);
  EXPECT_EQ(fields[2].name, "f3");
  for (const char* bad : {"", "0", "5,", "5:", "5:0", "5:2:max", "5,,6", "-1", "1e3", "5:2:mean:2"}) {
    EXPECT_THROW((void)parse_fields(bad, "fields"), UsageError) << bad;
  }
}

TEST(PlanHelp, ShowsHowToBegin) {
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(run(std::vector<std::string>{"plan", "--help"}, out, err), kDone);
  EXPECT_THAT(out.str(), AllOf(HasSubstr("blindfl plan --job a.yaml --features 300"), HasSubstr("--peer-fields N,N:K"),
                               Not(HasSubstr("WIRED"))));
}

}  // namespace
}  // namespace blindfl::app::plan_test
