#include "blindfl/train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "nn/vertical_fixture.h"
#include "testing/thrown.h"

namespace blindfl::train::trainer_test {
namespace {

using nn::Family;
using protocol::Party;
using protocol::Session;

torch::Tensor logistic_loss(const torch::Tensor& scores, const torch::Tensor& labels) {
  return nn::loss(Family::kLogistic, scores, labels);
}

TEST(Trainer, ReportsEveryStepAndTheLossOnlyAtB) {
  const nn::VerticalData data(made_up::make_synthetic({.rows = 70, .columns_a = 3, .columns_b = 3}).joined, 3, 32);
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  TrainOptions options;
  options.epochs = 2;
  options.batch = 32;
  const auto [at_a, at_b] = parties.run([&](Session& s) {
    nn::GeneralizedLinear model(s, data.shape);
    std::vector<StepReport> reports;
    fit(
        *model, [&](const data::Batch& x) { return model->forward(x); }, logistic_loss, data.at(s.party()), options,
        [&](const StepReport& report) { reports.push_back(report); });
    return reports;
  });
  ASSERT_EQ(at_b.size(), 6U);
  ASSERT_EQ(at_a.size(), 6U);
  std::size_t rows = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(at_b[i].step, i + 1);
    EXPECT_EQ(at_b[i].steps, 6U);
    EXPECT_EQ(at_b[i].epoch, i / 3 + 1);
    EXPECT_TRUE(at_b[i].loss.has_value());
    EXPECT_FALSE(at_a[i].loss.has_value());
    rows += at_b[i].rows;
  }
  EXPECT_EQ(rows, 140U);
}

TEST(Trainer, TellsEachStepWhatTheNextOneTakes) {
  const nn::VerticalData data(made_up::make_synthetic({.rows = 70, .columns_a = 3, .columns_b = 3}).joined, 3, 32);
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  TrainOptions options;
  options.epochs = 2;
  options.batch = 32;
  using Numbers = std::vector<std::uint32_t>;
  const auto [at_a, at_b] = parties.run([&](Session& s) {
    nn::GeneralizedLinear model(s, data.shape);
    std::vector<std::pair<Numbers, Numbers>> steps;
    fit(
        *model,
        [&](const data::Batch& x) {
          steps.emplace_back(x.numbers, x.next ? x.next->numbers : Numbers{});
          return model->forward(x);
        },
        logistic_loss, data.at(s.party()), options);
    return steps;
  });
  ASSERT_EQ(at_b.size(), 6U);
  EXPECT_EQ(at_a, at_b) << "both parties know the same";
  for (std::size_t i = 0; i + 1 < at_b.size(); ++i)
    EXPECT_EQ(at_b[i].second, at_b[i + 1].first) << "also across epochs";
  EXPECT_TRUE(at_b.back().second.empty());
  const data::BatchOrder order(70, options.batch, options.order_seed);
  for (std::size_t epoch : {1, 2}) {
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(at_b[3 * (epoch - 1) + i].first, order.batches(epoch)[i]);
  }
}

TEST(Trainer, ScoresComeInTheOrderOfTheRowsAtBAndNotAtAllAtA) {
  const nn::VerticalData data(made_up::make_synthetic({.rows = 50, .columns_a = 3, .columns_b = 3}).joined, 3, 16);
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  struct Result {
    nn::Pieces pieces;
    torch::Tensor scores;
  };
  const auto [at_a, at_b] = parties.run([&](Session& s) {
    nn::GeneralizedLinear model(s, data.shape);
    return Result{nn::pieces_of(model->source),
                  score([&](const data::Batch& x) { return model->forward(x); }, data.at(s.party()), 16)};
  });
  EXPECT_EQ(at_a.scores.size(0), 0);
  const torch::Tensor expected =
      torch::mm(lab::features_tensor(data.joined), nn::joined_weight(at_a.pieces, at_b.pieces));
  EXPECT_LE(nn::largest_difference(at_b.scores, expected), 3e-5);
}

TEST(Trainer, FollowsTheScheduleAsThePlainModelBesideItDoes) {
  const nn::VerticalData data(
      nn::rounded(made_up::make_synthetic({.rows = 70, .columns_a = 3, .columns_b = 3}).joined, 16), 3, 32);
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  TrainOptions options;
  options.epochs = 6;  // of 3 steps
  options.batch = 32;
  options.sgd = {.learning_rate = 0.2, .momentum = 0.9, .schedule = {{5, 0.4}, {11, 0.01}}, .steps = 18};
  struct Result {
    nn::Pieces before;
    nn::Pieces after;
    torch::Tensor bias;
  };
  const auto [a, b] = parties.run([&](Session& s) {
    nn::GeneralizedLinear model(s, data.shape);
    Result result{nn::pieces_of(model->source), {}, {}};
    fit(
        *model, [&](const data::Batch& x) { return model->forward(x); }, logistic_loss, data.at(s.party()), options);
    result.after = nn::pieces_of(model->source);
    result.bias = model->bias.detach().clone();
    return result;
  });
  const torch::Tensor start = nn::joined_weight(a.before, b.before);
  const auto plain = [&](const TrainOptions& its_options) {
    lab::LocalModel model(data.joined.cols(), std::vector<std::size_t>{}, std::size_t{1});
    {
      const torch::NoGradGuard no_grad;
      model->weight.copy_(start);
    }
    lab::fit(model, Family::kLogistic, data.joined, its_options);
    return model;
  };
  const lab::LocalModel beside = plain(options);
  EXPECT_LE(nn::largest_difference(nn::joined_weight(a.after, b.after), beside->weight), 1e-3);
  EXPECT_LE(nn::largest_difference(b.bias, beside->bias), 1e-3);
  TrainOptions constant = options;
  constant.sgd.schedule.clear();
  EXPECT_GT(nn::largest_difference(plain(constant)->weight, beside->weight), 0.05) << "the schedule matters";
}

TEST(Trainer, RefusesFewerDeclaredStepsThanTrainingTakes) {
  const nn::VerticalData data(made_up::make_synthetic({.rows = 70, .columns_a = 3, .columns_b = 3}).joined, 3, 32);
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  TrainOptions options;
  options.epochs = 2;
  options.batch = 32;
  parties.run([&](Session& s) {
    nn::GeneralizedLinear model(s, data.shape);
    const auto train = [&](std::size_t steps) {
      TrainOptions declared = options;
      declared.sgd.steps = steps;
      fit(
          *model, [&](const data::Batch& x) { return model->forward(x); }, logistic_loss, data.at(s.party()), declared);
    };
    EXPECT_THAT(testing::message_of<InvalidArgument>([&] { train(5); }),
                ::testing::HasSubstr("training takes 6 steps, 3 in each of 2 epochs, and sgd.steps declares 5"));
    EXPECT_NO_THROW(train(6));
  });
}

TEST(Trainer, RefusesPartiesWithDifferentPlans) {
  const nn::VerticalData data(made_up::make_synthetic({.rows = 70, .columns_a = 3, .columns_b = 3}).joined, 3, 32);
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  EXPECT_THROW(parties.run([&](Session& s) {
    nn::GeneralizedLinear model(s, data.shape);
    TrainOptions options;
    options.batch = 32;
    options.order_seed = s.party() == Party::kA ? 1 : 2;
    fit(
        *model, [&](const data::Batch& x) { return model->forward(x); }, logistic_loss, data.at(s.party()), options);
  }),
               ConfigError);
}

TEST(Trainer, ALargeBatchsShortLastOneTrainsToo) {
  // One row is left over: its derivative must not be taken for that of a whole batch.
  const nn::VerticalData data(made_up::make_synthetic({.rows = 1025, .columns_a = 3, .columns_b = 3}).joined, 3, 1024);
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  EXPECT_NO_THROW(parties.run([&](Session& s) {
    nn::GeneralizedLinear model(s, data.shape);
    TrainOptions options;
    options.batch = 1024;
    options.epochs = 2;
    fit(
        *model, [&](const data::Batch& x) { return model->forward(x); }, logistic_loss, data.at(s.party()), options);
  }));
}

TEST(Trainer, RefusesToTrainOrScoreWithoutRows) {
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  nn::MatMul source(parties.session(Party::kB), nn::FeatureShape{.in_a = 1, .in_b = 1, .batch = 4}, std::size_t{1});
  EXPECT_THROW(fit(*source, {}, {}, {}, {}), InvalidArgument);
  EXPECT_THROW((void)score({}, data::Dataset{}, 4), InvalidArgument);
}

}  // namespace
}  // namespace blindfl::train::trainer_test
