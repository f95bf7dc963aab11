// A job's model with a shared top: what is planned is what is made, and its labels are in the unit that its loss takes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "blindfl/app/torch/job_model.h"
#include "blindfl/app/torch/training_parts.h"
#include "blindfl/base/error.h"
#include "blindfl/nn/shared_evaluation.h"
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
  EXPECT_EQ(nn::for_shared_top(nn::MatMulOptions{}).output_room, kSharedOutputRoom);
  const JobLayers layers = job_layers(linear_job(), kShape, kShape, kRows);
  EXPECT_TRUE(layers.shared_top);
  EXPECT_EQ(layers.numeric->options.top, protocol::Top::kShared);
  EXPECT_EQ(layers.numeric->options.output_room, kSharedOutputRoom);
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
    const ScaledLabels scaled(rows, model.labels);
    train::Trainer trainer(*model.module, model.learner->step(), scaled,
                           {.epochs = layers.epochs, .batch = shared.training.batch, .sgd = layers.sgd});
    while (!trainer.done()) EXPECT_FALSE(trainer.take_step().loss.has_value());
    Result result{.is_shared = model.shared_top(), .labels = model.labels, .loss = {}, .scores = {}, .predicted = {}};
    result.loss = nn::shared_mean_loss(*model.learner->model, *model.learner->loss, scaled, shared.training.batch, 1);
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

}  // namespace
}  // namespace blindfl::app::shared_model_test
