// What scores tell of the rows that a model was trained with, and of the model itself.

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/lab/attacks/attack_membership.h"
#include "blindfl/lab/attacks/attack_model.h"
#include "blindfl/lab/baselines/shared_weights.h"
#include "blindfl/lab/local_model.h"
#include "lab/vertical_rows.h"

namespace blindfl::lab::attacks::released_scores_test {
namespace {

using torch::Tensor;

/// Half of the rows are trained with, the others are of the same law.
struct Halves {
  data::Table trained;
  data::Table fresh;
};
Halves halves(std::size_t rows, std::size_t columns, std::uint64_t seed) {
  const data::Table all =
      made_up::make_synthetic({.rows = 2 * rows, .columns_a = columns / 2, .columns_b = columns / 2, .seed = seed})
          .joined;
  std::vector<std::uint32_t> first(rows);
  std::iota(first.begin(), first.end(), 0U);
  std::vector<std::uint32_t> second(rows);
  std::iota(second.begin(), second.end(), static_cast<std::uint32_t>(rows));
  return {all.select_rows(first), all.select_rows(second)};
}

double auc_of_membership(const Halves& of, std::size_t epochs) {
  torch::manual_seed(7);
  LocalModel model(of.trained.cols(), std::vector<std::size_t>{}, 1);
  fit(model, Family::kLogistic, of.trained, {.epochs = epochs, .batch = 32, .sgd = {.learning_rate = 0.5}});
  return attack_membership(Family::kLogistic, {score(model, of.trained), of.trained.labels()},
                           {score(model, of.fresh), of.fresh.labels()})
      .value;
}

TEST(Membership, ShowsOfAModelThatLearntItsRowsByHeart) {
  const double told = auc_of_membership(halves(80, 100, 1), 100);
  std::cout << "80 rows, 100 features: AUC " << told << "\n";
  EXPECT_GT(told, 0.8);
}

TEST(Membership, DoesNotShowOfAModelThatLearntNothing) {
  std::vector<double> told;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) told.push_back(auc_of_membership(halves(120, 100, seed), 0));
  expect_chance("a model that was not trained", told);
}

TEST(Membership, HardlyShowsOfAModelOfManyRows) {
  const double told = auc_of_membership(halves(4000, 10, 1), 4);
  std::cout << "4000 rows, 10 features: AUC " << told << "\n";
  EXPECT_LT(std::abs(told - 0.5), 0.04);
}

TEST(Membership, TakesScoresOfSeveralClasses) {
  const Tensor sure = torch::tensor({{9.0, 0.0, 0.0}, {0.0, 9.0, 0.0}});
  const Tensor unsure = torch::tensor({{0.1, 0.0, 0.0}, {0.0, 0.1, 0.0}});
  EXPECT_DOUBLE_EQ(attack_membership(Family::kMultinomial, {sure, {0, 1}}, {unsure, {0, 1}}).value, 1.0);
  EXPECT_THROW((void)attack_membership(Family::kMultinomial, {sure, {0}}, {unsure, {0, 1}}), InvalidArgument);
  EXPECT_THROW((void)attack_membership(Family::kMultinomial, {sure, {0, 1}}, {torch::zeros({0, 3}), {}}),
               InvalidArgument);
}

/// Scores of a linear model, rounded as they are released.
struct Released {
  Tensor features;
  Tensor scores;
};
Released released(std::int64_t rows, int score_bits, std::uint64_t seed) {
  torch::Generator weights = at::detail::createCPUGenerator(1);
  torch::Generator random = at::detail::createCPUGenerator(seed);
  const Tensor w = torch::randn({10, 1}, weights, torch::dtype(torch::kFloat64));
  const Tensor x = torch::randn({rows, 10}, random, torch::dtype(torch::kFloat64));
  return {x, (torch::mm(x, w) * std::exp2(score_bits)).round() / std::exp2(score_bits)};
}

TEST(ModelStealing, GetsALinearModelFromItsScoresHoweverTheyAreRounded) {
  for (const int bits : {16, 4}) {
    const Released queried = released(200, bits, 2);
    const Released fresh = released(2000, bits, 3);
    const StolenModel stolen = attack_model(queried.features, queried.scores, fresh.features, fresh.scores);
    std::cout << bits << " bits: correlation " << stolen.correlation << ", agreement " << stolen.agreement << "\n";
    EXPECT_GT(stolen.correlation, 0.9999);
    EXPECT_GT(stolen.agreement, 0.98);
    EXPECT_LT(stolen.common, 0.6);
  }
}

TEST(ModelStealing, GetsFromOwnFeaturesAloneWhatTheyExplain) {
  const Released queried = released(2000, 4, 2);
  const Released fresh = released(2000, 4, 3);
  const auto own = [](const Tensor& features) { return features.narrow(1, 5, 5); };
  const StolenModel stolen = attack_model(own(queried.features), queried.scores, own(fresh.features), fresh.scores);
  EXPECT_GT(stolen.correlation, 0.2);
  EXPECT_LT(stolen.correlation, 0.95);
}

TEST(ModelStealing, GetsNothingFromScoresOfOtherRows) {
  std::vector<double> correlations;
  for (std::uint64_t seed = 10; seed < 30; ++seed) {
    const Released queried = released(500, 4, seed);
    const Released fresh = released(1000, 4, seed + 100);
    const Tensor of_others = released(500, 4, seed + 200).scores;
    correlations.push_back(attack_model(queried.features, of_others, fresh.features, fresh.scores).correlation);
  }
  expect_chance("scores of other rows", correlations, 0);
}

TEST(ModelStealing, RefusesFewerScoresThanWeights) {
  EXPECT_THROW((void)attack_model(torch::zeros({3, 2}), torch::zeros({3}), torch::zeros({3, 2}), torch::zeros({3})),
               InvalidArgument);
  EXPECT_THROW((void)attack_model(torch::zeros({9, 2}), torch::zeros({8}), torch::zeros({3, 2}), torch::zeros({3})),
               InvalidArgument);
}

// Between parties, under either top: what is released is the same, and what it tells, too.
TEST(ReleasedScores, OfAModelBetweenPartiesTellWhatAPlainOnesTell) {
  constexpr std::size_t kTrained = 80;
  constexpr std::size_t kAll = 160;
  const data::Table joined =
      made_up::make_synthetic({.rows = kAll, .columns_a = 50, .columns_b = 50, .seed = 1}).joined;
  const VerticalRows all = rows_of_joined(joined, 50);
  const Tensor features = features_tensor(joined).to(torch::kFloat64);
  const auto labels = [&](std::size_t begin, std::size_t end) {
    return std::vector<double>(joined.labels().begin() + static_cast<std::ptrdiff_t>(begin),
                               joined.labels().begin() + static_cast<std::ptrdiff_t>(end));
  };
  for (const protocol::Top top : {protocol::Top::kOpen, protocol::Top::kShared}) {
    const auto run = baselines::run_shared_weights(he::LatticeScheme(), part_of(all, 0, kTrained), all, {.top = top},
                                                   {.epochs = 40, .batch = 80, .sgd = {.learning_rate = 0.5}});
    const double member = attack_membership(Family::kLogistic, {run.scores.slice(0, 0, kTrained), labels(0, kTrained)},
                                            {run.scores.slice(0, kTrained), labels(kTrained, kAll)})
                              .value;
    constexpr std::int64_t kQueried = 140;
    const Tensor scores = run.scores.to(torch::kFloat64);
    const StolenModel stolen = attack_model(features.slice(0, 0, kQueried), scores.slice(0, 0, kQueried),
                                            features.slice(0, kQueried), scores.slice(0, kQueried));
    std::cout << (top == protocol::Top::kOpen ? "open" : "shared") << " top: membership AUC " << member
              << ", stolen model's correlation " << stolen.correlation << "\n";
    EXPECT_GT(member, 0.8);
    EXPECT_GT(stolen.correlation, 0.95);
  }
}

}  // namespace
}  // namespace blindfl::lab::attacks::released_scores_test
