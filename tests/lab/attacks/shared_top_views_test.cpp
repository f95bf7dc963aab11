// What the attacks on an open top make of what B really sees of a training under a shared one: nothing. The same
// attacks on the same training succeed as soon as A's shares are added to B's view.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iostream>

#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/lab/attacks/attack_binary_columns.h"
#include "blindfl/lab/attacks/attack_data.h"
#include "blindfl/lab/attacks/attack_differences.h"
#include "blindfl/lab/attacks/attack_regression.h"
#include "blindfl/protocol/session/steps.h"
#include "lab/attacks/shared_top_view.h"
#include "testing/plain/plain_scheme.h"
#include "testing/uniformity.h"

namespace blindfl::lab::attacks::shared_top_views_test {
namespace {

using torch::Tensor;

constexpr std::int64_t kTrained = 512;
constexpr int kOutputScale = 16;

struct Case {
  TwoTables training;
  TwoTables validation;
  ViewOptions options;
};

Case people(std::int64_t columns_a, std::int64_t columns_b, const ViewOptions& options) {
  const std::int64_t end = kTrained + nn::torch_size(options.batch);  // validation rows make one batch
  const TwoTables all = synthetic_columns(end, columns_a, columns_b, 7);
  return {rows_between(all, 0, kTrained), rows_between(all, kTrained, end), options};
}

/// More outputs than A has columns: one opening of Z would do.
Case wide() {
  return people(12, 4, {.out = 16, .batch = 256, .initial_deviation = 0.3, .epochs = 5, .learning_rate = 0.3});
}
/// A logistic regression: it takes several openings of the same rows.
Case narrow() {
  return people(6, 5, {.out = 1, .batch = 128, .initial_deviation = 1.0, .epochs = 24, .learning_rate = 0.5});
}

/// Trained once for all tests.
const SharedViews& wide_views() {
  static const SharedViews views = [] {
    const Case wanted = wide();
    return SharedTraining(he::LatticeScheme(), wanted.training, wanted.validation, wanted.options).run();
  }();
  return views;
}
const SharedViews& narrow_views() {
  static const SharedViews views = [] {
    const Case wanted = narrow();
    return SharedTraining(he::LatticeScheme(), wanted.training, wanted.validation, wanted.options).run();
  }();
  return views;
}

Tensor kept_back_by(const SharedViews& views, Party party) {
  const SeenPass& last = views.of(party).validations.back();
  return numbers_of_rows(last, last.z);
}
Tensor opened_at_the_end(const SharedViews& views) {
  return openings_of(views, OwnPart::kLeftIn, {.z = true}).back().z;
}
Tensor weight_at_the_end(const SharedViews& views, Party features_of) {
  const auto piece = [&](Party party) {
    const SeenPass& last = views.of(party).validations.back();
    return features_of == Party::kA ? last.weight_a : last.weight_b;
  };
  return numbers_of(open(piece(Party::kA), piece(Party::kB)));
}

/// A share as B may look at it: all of it, or only its lowest bits, where Z has its own.
std::vector<Tensor> readings(const SeenPass& pass) {
  std::vector<Tensor> readings = {numbers_of_rows(pass, pass.z)};
  for (const int more : {0, 4}) {
    readings.push_back(numbers_of_rows(pass, narrowed(pass.z, pass.z.scale() + more)));
  }
  return readings;
}

std::size_t recovered(const char* name, const RecoveredColumns& found, const Tensor& truth) {
  const RecoveredFraction fraction = fraction_of(found, truth);
  std::cout << name << ": " << fraction.recovered << " of " << fraction.of << " columns exact, "
            << found.columns.size(1) << " found in " << found.dimensions << " dimensions\n";
  return fraction.recovered;
}

void expect_chance(const char* name, const Nearness& nearness, double factor) {
  std::cout << name << ": correlation " << nearness.value << ", chance " << nearness.chance << "\n";
  EXPECT_LT(nearness.value, factor * nearness.chance) << name;
}

double log_loss(const Tensor& logits, const Tensor& labels) {
  return torch::binary_cross_entropy_with_logits(logits, labels.unsqueeze(1).expand_as(logits)).item<double>();
}

// Attacks on a training that learned nothing would prove nothing.
TEST(SharedTopViews, AreOfATrainingThatLearns) {
  for (const auto& [wanted, views] : {std::pair(wide(), &wide_views()), std::pair(narrow(), &narrow_views())}) {
    const auto openings = openings_of(*views, OwnPart::kLeftIn, {.z = true});
    ASSERT_EQ(openings.size(), wanted.options.epochs);
    const SeenPass& first = views->a.steps.front();
    const std::vector<std::int64_t> rows(first.rows.begin(), first.rows.end());
    const Tensor labels = wanted.training.labels.index_select(0, torch::tensor(rows, torch::kInt64));
    const double before = log_loss(numbers_of(open(first.z, views->b.steps.front().z)), labels);
    const double after = log_loss(openings.back().z, wanted.validation.labels);
    std::cout << "log loss " << before << " at first, " << after << " at the end\n";
    EXPECT_LT(after, 0.5);
    EXPECT_LT(after, before - 0.1);
    // Z is what both tables and both weights say.
    const Tensor z = torch::mm(wanted.validation.a, weight_at_the_end(*views, Party::kA)) +
                     torch::mm(wanted.validation.b, weight_at_the_end(*views, Party::kB));
    EXPECT_LT((z - openings.back().z).abs().max().item<double>(), 1e-3);
  }
}

TEST(SharedTopViews, HoldNoMessageThatOpensZ) {
  for (const Party party : {Party::kA, Party::kB}) {
    const auto& received = wide_views().of(party).received;
    EXPECT_FALSE(received.empty());
    EXPECT_TRUE(std::ranges::none_of(
        received, [](const auto& m) { return m.message.step == net::Step(protocol::steps::kOutputShare); }));
  }
}

TEST(SharedTopViews, HoldSharesOfZThatLookUniform) {
  for (const Party party : {Party::kA, Party::kB}) {
    std::vector<UInt128> values;
    int ring_bits = 0;
    for (const SeenPass& step : wide_views().of(party).steps) {
      values.insert(values.end(), step.z.values().begin(), step.z.values().end());
      ring_bits = step.z.ring_bits();
    }
    EXPECT_TRUE(testing::looks_uniform(std::span<const UInt128>(values), ring_bits)) << name_of(party);
  }
}

TEST(SharedTopViews, HideBinaryColumnsThatAnOpenTopGivesAway) {
  const Case wanted = wide();
  const TwoTables& rows = wanted.validation;
  for (const SeenPass* pass : {&wide_views().b.validations.front(), &wide_views().b.validations.back()}) {
    for (const Tensor& z : readings(*pass)) {
      EXPECT_EQ(recovered("B's share", attack_binary_columns(z, rows.b, kOutputScale), rows.a), 0U);
    }
  }
  EXPECT_EQ(columns_within_reach(kept_back_by(wide_views(), Party::kB), rows.b, kOutputScale, rows.a), 0U);

  const Tensor open_top = record_scoring(he::LatticeScheme(), rows, wanted.options);
  EXPECT_EQ(recovered("open top", attack_binary_columns(open_top, rows.b, kOutputScale), rows.a), 12U);
  const Tensor opened = opened_at_the_end(wide_views());
  EXPECT_EQ(recovered("Z opened", attack_binary_columns(opened, rows.b, kOutputScale), rows.a), 12U);
}

/// What the attack finds in B's share of Z of the first batch, when weights are still the small numbers they begin as.
std::size_t recovered_of_first_step(const char* name, const SharedViews& views, const TwoTables& training) {
  const SeenPass& first = views.b.steps.front();
  const std::vector<std::int64_t> rows(first.rows.begin(), first.rows.end());
  const Tensor numbers = torch::tensor(rows, torch::kInt64);
  const Tensor features_b = training.b.index_select(0, numbers);
  return recovered(name, attack_binary_columns(numbers_of_rows(first, first.z), features_b, kOutputScale),
                   training.a.index_select(0, numbers));
}

// It is the masks of the products that hide them, and the attack would notice if they were missing.
TEST(SharedTopViews, HideNothingWithoutMasks) {
  Case wanted = wide();
  wanted.options.epochs = 1;
  const testing::PlainScheme unmasked({.mask = false});
  const SharedViews views = SharedTraining(unmasked, wanted.training, wanted.validation, wanted.options).run();
  EXPECT_EQ(recovered_of_first_step("first step, no masks", views, wanted.training), 12U);
  EXPECT_EQ(recovered_of_first_step("first step", wide_views(), wanted.training), 0U);
}

TEST(SharedTopViews, HideDifferencesThatAnOpenTopGivesAway) {
  const Case wanted = narrow();
  const TwoTables& rows = wanted.validation;
  const auto attacked = [&](const char* name, const std::vector<Opening>& openings) {
    return recovered(name, attack_differences(openings, rows.b, kOutputScale), rows.a);
  };
  EXPECT_EQ(attacked("B's shares", openings_of(narrow_views(), OwnPart::kLeftIn)), 0U);
  EXPECT_EQ(attacked("B's shares without its own part", openings_of(narrow_views(), OwnPart::kTakenOut)), 0U);
  // Not even B's weights, if A gave its share of them away, take enough out of B's share.
  EXPECT_EQ(attacked("B's weights opened", openings_of(narrow_views(), OwnPart::kTakenOut, {.weight_b = true})), 0U);

  const auto open_top = record_validations(he::LatticeScheme(), wanted.training, rows, wanted.options);
  EXPECT_EQ(attacked("open top", open_top), 6U);
  EXPECT_EQ(attacked("Z and B's weights opened",
                     openings_of(narrow_views(), OwnPart::kTakenOut, {.z = true, .weight_b = true})),
            6U);
  // Z alone is enough: its differences have B's columns in them, too, and those are not binary.
  EXPECT_EQ(attacked("Z opened", openings_of(narrow_views(), OwnPart::kLeftIn, {.z = true})), 6U);
}

TEST(SharedTopViews, HideWhatAContributesFromARegression) {
  const TwoTables rows = wide().validation;
  const Tensor contribution = torch::mm(rows.a, weight_at_the_end(wide_views(), Party::kA));
  for (const Tensor& z : readings(wide_views().b.validations.back())) {
    const Tensor estimate = attack_regression(z, rows.b);
    expect_chance("B's share, X_A W_A", correlation_with(estimate, contribution, rows.b), 2.5);
    expect_chance("B's share, A's columns", correlation_of_columns(estimate, rows.a, rows.b), 1.6);
    EXPECT_EQ(columns_mixed(estimate, rows.a, rows.b), 0U);
  }
  const Tensor estimate = attack_regression(opened_at_the_end(wide_views()), rows.b);
  EXPECT_GT(correlation_with(estimate, contribution, rows.b).value, 0.9999);
  EXPECT_EQ(columns_mixed(estimate, rows.a, rows.b), 12U);
}

TEST(SharedTopViews, HideRowsOfTrainingInAllTheirSteps) {
  const TwoTables rows = narrow().training;
  const SharedViews& views = narrow_views();
  const auto columns = [&](const PartyView& view) {
    return correlation_of_columns(attack_regression(numbers_of_training(view, kTrained), rows.b), rows.a, rows.b);
  };
  expect_chance("B's shares of Z and dZ in all steps", columns(views.b), 1.4);
  PartyView opened = views.b;
  for (std::size_t i = 0; i < opened.steps.size(); ++i) {
    opened.steps[i] = with_opened(opened.steps[i], views.a.steps[i], {.z = true});
  }
  // Not 1: weights change between the batches of an epoch.
  EXPECT_GT(columns(opened).value, 2 * columns(opened).chance);
}

// A must see nothing of B's features and labels either.
TEST(SharedTopViews, HideWhatBContributesAndTheLabelsFromA) {
  const Case wanted = wide();
  const TwoTables& rows = wanted.validation;
  const Tensor contribution = torch::mm(rows.b, weight_at_the_end(wide_views(), Party::kB));
  const Tensor labels = rows.labels.unsqueeze(1);
  const auto nearness_to_labels = [&](const Tensor& z) {
    return correlation_of_columns(attack_regression(z, rows.a), labels, rows.a);
  };
  for (const Tensor& z : readings(wide_views().a.validations.back())) {
    expect_chance("A's share, X_B W_B", correlation_with(attack_regression(z, rows.a), contribution, rows.a), 2.5);
    expect_chance("A's share, labels", nearness_to_labels(z), 2);
  }
  const Tensor opened = opened_at_the_end(wide_views());
  EXPECT_GT(correlation_with(attack_regression(opened, rows.a), contribution, rows.a).value, 0.9999);
  EXPECT_GT(nearness_to_labels(opened).value, 2 * nearness_to_labels(opened).chance);
}

}  // namespace
}  // namespace blindfl::lab::attacks::shared_top_views_test
