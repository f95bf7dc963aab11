// Labels from what A has of its own part of a model: nearly all of them in split learning, as many where its gradients
// are not shared, none with our layers.

#include "blindfl/lab/attacks/attack_activations.h"

#include <gtest/gtest.h>

#include <iostream>
#include <stdexcept>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/lab/attacks/paper_attacks.h"
#include "blindfl/lab/baselines/shared_weights.h"
#include "blindfl/lab/baselines/split_learning.h"
#include "blindfl/lab/local_model.h"
#include "lab/vertical_rows.h"
#include "testing/plain/plain_scheme.h"

namespace blindfl::lab::attacks::activations_test {
namespace {

using torch::Tensor;

// A's columns say as much of a label as B's.
const TrainAndTest& rows() {
  static const TrainAndTest made = numeric_rows({.rows = 900, .columns_a = 6, .columns_b = 5, .seed = 3});
  return made;
}

const ActivationBar& bar(const std::vector<ActivationBar>& bars, const std::string& what,
                         const std::string& predicted_by, double scale = 1) {
  for (const ActivationBar& one : bars) {
    if (one.what == what && one.predicted_by == predicted_by && one.scale_of_v == scale) return one;
  }
  throw std::out_of_range("no bar of " + what + " by " + predicted_by);
}

void tell(const std::vector<ActivationBar>& bars) {
  for (const ActivationBar& one : bars) {
    std::cout << one.what << ", scale of V_A " << one.scale_of_v << ", by " << one.predicted_by << ": "
              << one.attack.value << ", by the whole model " << one.joined.value << "\n";
  }
}

ActivationFigure two_classes() {
  return {.scales_of_v = {1, 10},
          .training = {.epochs = 4, .batch = 64, .sgd = {.learning_rate = 0.1, .momentum = 0.9}},
          .shared_top = false};
}

TEST(Activations, TellLabelsInSplitLearningAndWithoutSharedGradients) {
  const auto bars = activation_bars(testing::PlainScheme(), rows().train, rows().test, two_classes());
  tell(bars);
  ASSERT_EQ(bars.size(), 7U);
  const double split = bar(bars, "split learning", "X_A W_A").attack.value;
  EXPECT_GT(split, 0.68);
  EXPECT_GT(bar(bars, "split learning", "X_A W_A").joined.value, split);
  EXPECT_GT(bar(bars, "ModelSS", "X_A U_A").attack.value, 0.63);
  // What A learnt in training says it, too, and the larger V_A is the more of that undoes V_A.
  for (const double scale : {1.0, 10.0}) {
    EXPECT_GT(bar(bars, "ModelSS", "X_A (U_A - U_A at first)", scale).attack.value, scale == 1.0 ? 0.68 : 0.55);
  }
}

/// The AUC of X_A U_A and of X_A (U_A - U_A at first), for shares of many seeds.
std::vector<std::vector<double>> of_our_layer(const he::Scheme& scheme, protocol::Top top, std::uint64_t first,
                                              std::uint64_t count) {
  std::vector<std::vector<double>> values(2);
  const Tensor features = features_tensor(rows().test.a.numeric).to(torch::kFloat64);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const auto run = baselines::run_shared_weights(scheme, rows().train, rows().test, {.top = top},
                                                   {.epochs = 1, .batch = 256, .sgd = {.learning_rate = 0.5}}, seed);
    const Tensor learnt = run.share - run.share_at_first;
    for (std::size_t i = 0; i < 2; ++i) {
      const Tensor& share = i == 0 ? run.share : learnt;
      values[i].push_back(attack_activations(torch::mm(features, share), rows().test.b.labels).value);
    }
  }
  return values;
}

TEST(Activations, TellNothingOfLabelsWithOurLayer) {
  expect_chance({{"X_A U_A"}, {"X_A (U_A - U_A at first)"}}, 40, [](std::uint64_t first, std::uint64_t count) {
    return of_our_layer(testing::PlainScheme(), protocol::Top::kOpen, first, count);
  });
}

TEST(Activations, TellNothingOfLabelsUnderASharedTop) {
  expect_chance({{"shared top, X_A U_A"}, {"shared top, X_A (U_A - U_A at first)"}}, 8,
                [](std::uint64_t first, std::uint64_t count) {
                  return of_our_layer(he::LatticeScheme(), protocol::Top::kShared, first, count);
                });
}

// The same test sees what split learning tells.
TEST(Activations, OfSplitLearningAreBeyondThreeStandardErrors) {
  std::vector<double> told;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const baselines::SplitRun run =
        baselines::run_split_learning(rows().train, rows().test, {.in_a = 6, .in_b = 5}, two_classes().training, seed);
    told.push_back(attack_activations(run.contribution, rows().test.b.labels).value);
  }
  EXPECT_FALSE(near_chance("split learning, X_A W_A", told, 0.5));
}

TEST(Activations, AreTheAccuracyOfSeveralClasses) {
  const Tensor scores = torch::tensor({{3.0, 1.0, 2.0}, {0.0, 5.0, 1.0}, {0.0, 1.0, 2.0}, {9.0, 1.0, 2.0}});
  const Success told = attack_activations(scores, {0, 1, 2, 1});
  EXPECT_DOUBLE_EQ(told.value, 0.75);
  EXPECT_DOUBLE_EQ(told.chance, 0.5);
}

TEST(Activations, TellClassesInSplitLearning) {
  const TrainAndTest classes = numeric_rows(
      {.rows = 900, .columns_a = 6, .columns_b = 5, .task = made_up::Task::kMulticlass, .classes = 3, .seed = 4});
  const auto bars = activation_bars(testing::PlainScheme(), classes.train, classes.test,
                                    {.outputs = 3,
                                     .family = Family::kMultinomial,
                                     .scales_of_v = {1},
                                     .training = {.epochs = 3, .batch = 64, .sgd = {.learning_rate = 0.1}},
                                     .shared_top = false});
  tell(bars);
  const Success split = bar(bars, "split learning", "X_A W_A").attack;
  EXPECT_GT(split.value, split.chance + 0.1);
  const Success alone = bar(bars, "ModelSS", "X_A (U_A - U_A at first)").attack;
  EXPECT_GT(alone.value, alone.chance + 0.1);
}

TEST(Activations, AreRefusedWithoutALabelForEachRow) {
  EXPECT_THROW((void)attack_activations(torch::zeros({3, 1}), {0, 1}), InvalidArgument);
  EXPECT_THROW((void)attack_activations(torch::zeros({2, 1}), {1, 1}), InvalidArgument);
}

}  // namespace
}  // namespace blindfl::lab::attacks::activations_test
