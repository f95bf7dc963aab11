#include "blindfl/nn/models.h"

#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "blindfl/train/trainer.h"
#include "nn/vertical_fixture.h"

namespace blindfl::nn::models_test {
namespace {

constexpr Family kFamilies[] = {Family::kLogistic, Family::kMultinomial, Family::kLinear, Family::kPoisson};

std::size_t outputs_of(Family family) {
  return family == Family::kMultinomial ? 3 : 1;
}

TEST(Loss, IsTheTextbooksForEveryFamily) {
  const torch::Tensor score = torch::tensor({{0.5F}, {-1.0F}});
  const torch::Tensor labels = torch::tensor({1.0F, 0.0F});
  const double logistic = (std::log1p(std::exp(-0.5)) + std::log1p(std::exp(-1.0))) / 2;
  EXPECT_NEAR(loss(Family::kLogistic, score, labels).item<double>(), logistic, 1e-6);
  EXPECT_NEAR(loss(Family::kLinear, score, labels).item<double>(), (0.25 + 1.0) / 4, 1e-6);
  EXPECT_NEAR(loss(Family::kPoisson, score, labels).item<double>(), (std::exp(0.5) - 0.5 + std::exp(-1.0)) / 2, 1e-6);
  const torch::Tensor scores = torch::tensor({{1.0F, 2.0F, 3.0F}});
  const double multinomial = std::log(std::exp(1.0) + std::exp(2.0) + std::exp(3.0)) - 2.0;
  EXPECT_NEAR(loss(Family::kMultinomial, scores, torch::tensor({1.0F})).item<double>(), multinomial, 1e-6);
}

TEST(Loss, OfAnEmptyBatchHasAWorkingBackwardPass) {
  // What A computes: no rows and no labels.
  for (const Family family : kFamilies) {
    const torch::Tensor bias = torch::zeros({static_cast<std::int64_t>(outputs_of(family))}, torch::requires_grad());
    const torch::Tensor scores = torch::zeros({0, bias.size(0)}) + bias;
    loss(family, scores, torch::zeros({0})).backward();
    EXPECT_EQ(bias.grad().abs().sum().item<double>(), 0.0);
  }
}

TEST(Loss, RefusesLabelsThatAreNotTheFamilys) {
  const torch::Tensor scores = torch::zeros({2, 1});
  EXPECT_THROW((void)loss(Family::kLogistic, scores, torch::tensor({-1.0F, 1.0F})), DataError);
  EXPECT_THROW((void)loss(Family::kLogistic, scores, torch::tensor({0.0F, 2.0F})), DataError);
  EXPECT_THROW((void)loss(Family::kPoisson, scores, torch::tensor({3.0F, -1.0F})), DataError);
  EXPECT_NO_THROW((void)loss(Family::kLinear, scores, torch::tensor({-3.0F, 100.0F})));
}

TEST(Predictions, AreOnTheScaleOfTheLabels) {
  const torch::Tensor score = torch::tensor({{2.0F}});
  EXPECT_NEAR(predictions(Family::kLogistic, score).item<double>(), 1 / (1 + std::exp(-2.0)), 1e-6);
  EXPECT_NEAR(predictions(Family::kPoisson, score).item<double>(), std::exp(2.0), 1e-5);
  EXPECT_NEAR(predictions(Family::kLinear, score).item<double>(), 2.0, 1e-6);
  EXPECT_NEAR(predictions(Family::kMultinomial, torch::tensor({{1.0F, 5.0F}})).sum().item<double>(), 1.0, 1e-6);
}

TEST(Mlp, NeedsAHiddenLayer) {
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  const FeatureShape shape{.in_a = 2, .in_b = 2, .batch = 4};
  EXPECT_THROW(MlpImpl(parties.session(Party::kB), shape, {}, 1), InvalidArgument);
}

// Linear and Poisson regression have unbounded derivatives: show that they train, and as libtorch does.
class Regression : public ::testing::TestWithParam<Family> {};

TEST_P(Regression, EqualsLibtorchAfter200Steps) {
  const Family family = GetParam();
  made_up::SyntheticSpec spec;
  spec.rows = 400;
  spec.columns_a = 6;
  spec.columns_b = 6;
  spec.task = family == Family::kLinear ? made_up::Task::kRegression : made_up::Task::kCount;
  const VerticalData data(made_up::make_synthetic(spec).joined, 6, 50);
  train::TrainOptions options;
  options.batch = 50;
  options.epochs = 25;
  options.sgd = {.learning_rate = 0.002, .momentum = 0.9};

  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  const auto [a, b] = parties.run([&](Session& s) {
    MatMulOptions wide;
    wide.derivative = {.scale = 28, .largest = 4096, .clip = false};
    GeneralizedLinear model(s, data.shape, std::size_t{1}, wide);
    const Pieces before = pieces_of(model->source);
    train::fit(
        *model, [&](const data::Batch& x) { return model->forward(x); },
        [&](const torch::Tensor& scores, const torch::Tensor& labels) { return loss(family, scores, labels); },
        data.at(s.party()), options);
    return std::pair(before, pieces_of(model->source));
  });
  lab::LocalModel joined(data.joined.cols(), std::vector<std::size_t>{}, std::size_t{1});
  {
    const torch::NoGradGuard no_grad;
    joined->weight.copy_(joined_weight(a.first, b.first));
  }
  lab::fit(joined, family, data.joined, options);
  EXPECT_LE(largest_difference(joined_weight(a.second, b.second), joined->weight), 1e-3);
  EXPECT_GT(largest_difference(joined_weight(a.first, b.first), joined->weight), 0.05);
}

INSTANTIATE_TEST_SUITE_P(Families, Regression, ::testing::Values(Family::kLinear, Family::kPoisson),
                         [](const auto& f) { return f.param == Family::kLinear ? "linear" : "poisson"; });

}  // namespace
}  // namespace blindfl::nn::models_test
