// A job's model with a shared top: what is planned is what is made, and its labels are in the unit that its loss takes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "blindfl/app/plan/estimate.h"
#include "blindfl/app/torch/job_model.h"
#include "blindfl/app/torch/training_parts.h"
#include "blindfl/base/error.h"
#include "blindfl/net/channel.h"
#include "blindfl/nn/federated_optimizer.h"
#include "blindfl/nn/range_watcher.h"
#include "blindfl/nn/shared_evaluation.h"
#include "blindfl/protocol/session/ot_pools.h"
#include "blindfl/protocol/session/steps.h"
#include "testing/two_parties.h"

namespace blindfl::app::shared_model_test {
namespace {

constexpr std::size_t kRows = 96;

/// A linear regression, whose loss takes no function: quick to make.
job::Shared linear_job() {
  job::Shared shared;
  shared.model.kind = job::ModelKind::kLinear;
  shared.model.top = protocol::Top::kShared;
  shared.training = {.epochs = 20, .batch = 32, .learning_rate = 0.1, .test_share = 0.0};
  return shared;
}

/// A's feature moves the labels, which are around 1000, by 50, and B's by 20.
data::RowsInMemory rows_at(Party party) {
  std::vector<double> of_a;
  std::vector<double> of_b;
  std::vector<double> labels;
  for (std::size_t i = 0; i < kRows; ++i) {
    of_a.push_back(std::sin(static_cast<double>(i)));
    of_b.push_back(std::cos(3.0 * static_cast<double>(i)));
    labels.push_back(1000 + 50 * of_a.back() + 20 * of_b.back());
  }
  const bool is_b = party == Party::kB;
  return data::RowsInMemory(
      data::make_dataset(data::Table::dense(kRows, 1, is_b ? of_b : of_a, is_b ? labels : std::vector<double>{}),
                         FixedPoint(FixedPointSpec{})));
}

const PartyShape kShape{.numeric = 1};

TEST(SharedModel, OfAJobIsPlannedAsItIsMade) {
  EXPECT_EQ(nn::for_shared_top(nn::MatMulOptions{}).output_room, protocol::kSharedOutputRoom);
  const JobLayers layers = job_layers(linear_job(), kShape, kShape, kRows);
  EXPECT_TRUE(layers.top.has_value());
  EXPECT_EQ(layers.numeric->options.top, protocol::Top::kShared);
  EXPECT_EQ(layers.numeric->options.output_room, protocol::kSharedOutputRoom);
  EXPECT_GT(layers.run.layers, 1U) << "the top shares in what the run may give away";
  job::Shared open = linear_job();
  open.model.top = protocol::Top::kOpen;
  EXPECT_EQ(job_layers(open, kShape, kShape, kRows).run.layers, 1U);
}

TEST(SharedModel, ThatIsMadeToScoreHasNoLoss) {
  const job::Shared shared = linear_job();
  const JobLayers layers = job_layers(shared, kShape, kShape, kRows);
  const he::Schemes schemes = job_schemes(shared.scheme);
  testing::TwoParties parties(pointers_to(schemes), testing::Record::kNo);
  parties.run([&](protocol::Session& s) {
    const JobModel model = make_model(s, shared.model, layers, ModelUse::kScoring);
    EXPECT_TRUE(model.shared_top());
    EXPECT_THROW((void)model.learner->step(), InvalidArgument);
    return 0;
  });
}

TEST(SharedModel, LearnsStandardisedLabelsAndOpensRoundedScoresOfThem) {
  const job::Shared shared = linear_job();
  const JobLayers layers = job_layers(shared, kShape, kShape, kRows);
  const he::Schemes schemes = job_schemes(shared.scheme);
  testing::TwoParties parties(pointers_to(schemes), testing::Record::kNo);
  struct Result {
    bool is_shared = false;
    LabelScaling labels;
    std::optional<double> loss;
    torch::Tensor scores;
    torch::Tensor predicted;
  };
  const auto [a, b] = parties.run([&](protocol::Session& s) {
    JobModel model = make_model(s, shared.model, layers);
    const data::RowsInMemory rows = rows_at(s.party());
    if (s.party() == Party::kB) model.labels = standardised(rows.dataset().labels);
    const LossRows scaled(rows, model.labels, {});
    train::Trainer trainer(*model.module, model.learner->step(), scaled,
                           {.epochs = layers.epochs, .batch = shared.training.batch, .sgd = layers.sgd});
    while (!trainer.done()) EXPECT_FALSE(trainer.take_step().loss.has_value());
    Result result{.is_shared = model.shared_top(), .labels = model.labels, .loss = {}, .scores = {}, .predicted = {}};
    const auto means = nn::shared_means(*model.learner->model, *model.learner->loss, scaled, shared.training.batch, 1);
    if (means) result.loss = means->loss;
    EXPECT_FALSE(means && means->accuracy) << "of numbers";
    result.scores = train::score(model.forward, rows, shared.training.batch);
    result.predicted = job_predictions(model, result.scores);
    return result;
  });
  EXPECT_TRUE(a.is_shared && b.is_shared);
  EXPECT_FALSE(a.loss.has_value());
  EXPECT_EQ(a.scores.size(0), 0);
  ASSERT_EQ(b.scores.size(0), static_cast<std::int64_t>(kRows));
  EXPECT_NEAR(b.labels.center, 1000, 5);
  EXPECT_LT(b.loss.value(), 0.01) << "half the squared error, in standard deviations of the labels";
  const torch::Tensor sixteenths = b.scores * 16;
  EXPECT_TRUE(torch::equal(sixteenths, sixteenths.round())) << "4 fractional bits";
  const data::RowsInMemory rows = rows_at(Party::kB);
  double largest = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    largest = std::max(largest, std::abs(b.predicted[at].item<double>() - rows.dataset().labels[i]));
  }
  EXPECT_LT(largest, 0.15 * b.labels.scale) << "in the labels' own unit";
}

/// Numeric features, and two fields where the model embeds them.
PartyShape shape_of(job::ModelKind kind) {
  PartyShape shape{.numeric = 3};
  if (job::has_embeddings(kind)) shape.fields = {{.categories = 6}, {.categories = 4}};
  return shape;
}

data::Batch full_batch(const PartyShape& shape, std::size_t rows, bool with_labels) {
  data::Batch batch;
  batch.rows = rows;
  batch.features = IntMatrix::dense(rows, shape.numeric, std::vector<std::int64_t>(rows * shape.numeric, 1),
                                    shape.encoding.scale, std::uint64_t{1} << 20);
  for (const CategoryField& field : shape.fields) {
    batch.fields.push_back(IntMatrix::one_hot(field.categories, std::vector<std::uint32_t>(rows, 1)));
  }
  if (with_labels) batch.labels.assign(rows, 1.0);
  return batch;
}

class PlannedSharedModel : public ::testing::TestWithParam<std::pair<job::ModelKind, Activation>> {};

/// Source layers and top, with what is looked at after 16 steps: the figures that the report shows beside each other.
TEST_P(PlannedSharedModel, SendsWhatItsEstimateSays) {
  constexpr std::size_t kBatch = 128;
  constexpr std::size_t kSteps = 16;
  const auto [kind, activation] = GetParam();
  job::Shared shared;
  shared.model.kind = kind;
  shared.model.top = protocol::Top::kShared;
  shared.model.activation = activation;
  shared.model.hidden = {6, 4};
  if (kind == job::ModelKind::kMlr) shared.model.classes = 3;
  shared.training = {.epochs = 2, .batch = kBatch, .test_share = 0.0};
  const PartyShape shape = shape_of(kind);
  const JobLayers layers = job_layers(shared, shape, shape, kBatch * kSteps);
  const JobEstimate expected = estimate(layers, shared.scheme, job_link(shared.scheme));
  const he::Schemes schemes = job_schemes(shared.scheme);
  testing::TwoParties parties(pointers_to(schemes), testing::Record::kNo);
  const auto sent = [](protocol::Session& s) {
    // Keys and the setup of random OTs come once, and digests of what both agree on are no part of a step.
    std::uint64_t bytes = 0;
    for (const auto& [step, traffic] : s.channel().sent()) {
      if (step.number() > protocol::steps::kObliviousTrees.number) bytes += traffic.bytes;
    }
    return static_cast<double>(bytes);
  };
  const auto [a, b] = parties.run([&](protocol::Session& s) {
    JobModel model = make_model(s, shared.model, layers);
    nn::FederatedOptimizer optimizer(*model.module, layers.sgd);
    train::BatchStep step = model.learner->step();
    for (std::size_t i = 0; i < kSteps; ++i) {
      optimizer.zero_grad();
      step(full_batch(shape, kBatch, s.party() == Party::kB)).backward();
      optimizer.step();
    }
    nn::check_ranges(*model.module);
    return sent(s);
  });
  // Of random OTs whole tiles travel, and some are left over.
  const auto tile = static_cast<double>(protocol::OtPools::tile_bytes());
  const auto to_b = static_cast<double>(expected.per_step.bytes_to_b * kSteps);
  const auto to_a = static_cast<double>(expected.per_step.bytes_to_a * kSteps);
  EXPECT_NEAR(a, to_b, tile + kSteps);
  EXPECT_NEAR(b, to_a, tile + kSteps);
  EXPECT_LT(std::abs(a + b - to_a - to_b), 0.02 * (to_a + to_b));
}

INSTANTIATE_TEST_SUITE_P(Models, PlannedSharedModel,
                         ::testing::Values(std::pair(job::ModelKind::kLr, Activation::kRelu),
                                           std::pair(job::ModelKind::kMlr, Activation::kRelu),
                                           std::pair(job::ModelKind::kLinear, Activation::kRelu),
                                           std::pair(job::ModelKind::kPoisson, Activation::kRelu),
                                           std::pair(job::ModelKind::kMlp, Activation::kRelu),
                                           std::pair(job::ModelKind::kMlp, Activation::kTanh),
                                           std::pair(job::ModelKind::kWdl, Activation::kRelu),
                                           std::pair(job::ModelKind::kFm, Activation::kRelu),
                                           std::pair(job::ModelKind::kDeepfm, Activation::kRelu)));

}  // namespace
}  // namespace blindfl::app::shared_model_test
