// Labels from derivatives: all of them by direction in split learning, however many hidden layers there are, and none
// by what A has of them with our layers.

#include "blindfl/lab/attacks/attack_derivatives.h"

#include <gtest/gtest.h>

#include <iostream>

#include "blindfl/base/error.h"
#include "blindfl/lab/attacks/paper_attacks.h"
#include "lab/vertical_rows.h"
#include "testing/plain/plain_scheme.h"

namespace blindfl::lab::attacks::derivatives_test {
namespace {

using torch::Tensor;

const TrainAndTest& rows() {
  static const TrainAndTest made = categorical_rows({.rows = 1200, .interaction = 0.2, .seed = 5});
  return made;
}

DerivativeFigure figure() {
  return {.most_hidden_layers = 3,
          .training = {.epochs = 2, .batch = 64, .sgd = {.learning_rate = 0.05, .momentum = 0.9}}};
}

TEST(Derivatives, TellLabelsInSplitLearningBehindAnyNumberOfHiddenLayers) {
  const auto points = derivative_points(rows().train, rows().test, rows().fields, figure());
  ASSERT_EQ(points.size(), 3U);
  for (const DerivativePoint& point : points) {
    std::cout << point.hidden_layers << " hidden layers: accuracy " << point.split.accuracy << ", balanced "
              << point.split.balanced << ", by one row " << point.one_row.accuracy << ", guess " << point.split.guess
              << "; AUC of norms " << point.norms.value << "; the model's " << point.test_auc << "\n";
    EXPECT_GT(point.split.accuracy, 0.95);
    EXPECT_GT(point.split.balanced, 0.95);
    EXPECT_LT(point.split.guess, 0.6);
    EXPECT_GT(point.test_auc, 0.65);
  }
}

TEST(Derivatives, TellNothingOfLabelsWithOurLayer) {
  std::vector<double> drawn;
  std::vector<double> opened;
  const auto of_seeds = [&](std::uint64_t first, std::uint64_t count) {
    std::vector<std::vector<double>> told(2);
    DerivativeFigure small = figure();
    small.training.epochs = 1;
    small.training.batch = 32;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      small.seed = seed;
      const HiddenDerivatives of = hidden_derivatives(testing::PlainScheme(), rows().train, rows().fields, 1, small);
      told[0].push_back(of.shares.balanced - of.drawn.balanced);
      told[1].push_back(of.norms.shares.value - of.norms.drawn.value);
      drawn.push_back(of.drawn.balanced);
      opened.push_back(of.opened.balanced);
    }
    return told;
  };
  expect_chance({{"directions of A's shares of gradients, less those of random numbers", 0},
                 {"norms of A's shares of gradients, less those of random numbers", 0}},
                8, of_seeds);
  // The same reading tells something as soon as the shares are added: a gradient is a sum over a batch.
  EXPECT_GT(mean_of(opened).mean, mean_of(drawn).mean + 0.03);
  std::cout << "random numbers: " << mean_of(drawn).mean << ", opened: " << mean_of(opened).mean << "\n";
}

TEST(Derivatives, AreToldApartByTheirDirection) {
  const Tensor derivatives = torch::tensor({{1.0, 2.0}, {-0.1, -0.2}, {3.0, 5.0}, {-1.0, -1.0}, {0.5, 1.2}});
  const std::int64_t reference = longest_row(derivatives);
  EXPECT_EQ(reference, 2);
  const ToldLabels told = attack_directions(derivatives, {1, 0, 1, 0, 0}, reference);
  EXPECT_DOUBLE_EQ(told.accuracy, 0.75);
  EXPECT_DOUBLE_EQ(told.balanced, (1.0 + 2.0 / 3.0) / 2);
  EXPECT_DOUBLE_EQ(told.guess, 0.75);
  EXPECT_LT(told.cosines[1].item<double>(), -0.99);
  // Of signs the better one counts, but what is known of the reference is not turned round.
  const ToldLabels other = attack_directions(derivatives, {0, 0, 1, 0, 1}, 0);
  EXPECT_DOUBLE_EQ(other.accuracy, 1);
  EXPECT_DOUBLE_EQ(other.balanced, 0);
}

TEST(Norms, TellTheRarerClass) {
  // As p - y is for a model that knows how rare ones are.
  torch::Generator random = at::detail::createCPUGenerator(3);
  const auto uniform = [&] { return torch::rand({2000}, random, torch::dtype(torch::kFloat64)); };
  const Tensor labels = (uniform() < 0.1).to(torch::kFloat64);
  const Tensor p = 0.05 + 0.2 * uniform();
  const Tensor derivatives = (p - labels).unsqueeze(1) * torch::tensor({{0.3, -0.2}}, torch::kFloat64);
  const std::vector<double> truth(labels.data_ptr<double>(), labels.data_ptr<double>() + labels.numel());
  EXPECT_GT(attack_norms(derivatives, truth).value, 0.99);
  std::vector<double> by_chance;
  for (int i = 0; i < 20; ++i) {
    const Tensor of_others = derivatives.index_select(0, torch::randperm(2000, random, torch::dtype(torch::kInt64)));
    by_chance.push_back(attack_norms(of_others, truth).value);
  }
  expect_chance("norms of other rows", by_chance);
}

TEST(Derivatives, OfOneClassAloneAreRefused) {
  const Tensor derivatives = torch::ones({3, 2});
  EXPECT_THROW((void)attack_directions(derivatives, {0, 0, 1}, 2), InvalidArgument);
  EXPECT_THROW((void)attack_directions(derivatives, {0, 2, 1}, 2), InvalidArgument);
  EXPECT_THROW((void)attack_directions(derivatives, {0, 1, 1}, 3), InvalidArgument);
  EXPECT_THROW((void)attack_norms(derivatives, {0, 1}), InvalidArgument);
}

}  // namespace
}  // namespace blindfl::lab::attacks::derivatives_test
