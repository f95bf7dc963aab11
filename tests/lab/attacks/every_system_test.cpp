// The same attacks on every system that is compared: split learning, shared weights without shared gradients, BlindFL
// with an open and with a shared top, SecureML. What scores tell they tell of all of them, for it is the model that
// tells it; what a party has before there are scores tells of the first two, and of Z under an open top.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/lab/attacks/attack_binary_columns.h"
#include "blindfl/lab/attacks/attack_data.h"
#include "blindfl/lab/attacks/attack_differences.h"
#include "blindfl/lab/attacks/attack_lattice.h"
#include "blindfl/lab/attacks/attack_membership.h"
#include "blindfl/lab/attacks/attack_model.h"
#include "blindfl/lab/attacks/attack_regression.h"
#include "blindfl/lab/attacks/attack_scores.h"
#include "blindfl/lab/attacks/compare_shares.h"
#include "blindfl/lab/attacks/recorded_view.h"
#include "blindfl/lab/baselines/shared_weights.h"
#include "blindfl/lab/baselines/split_learning.h"
#include "blindfl/lab/secureml/model.h"
#include "lab/secureml/ways.h"
#include "lab/vertical_rows.h"

namespace blindfl::lab::attacks::every_system_test {
namespace {

using secureml::Output;
using secureml::TripletParties;
using secureml::Triplets;
using secureml::Words;
using torch::Tensor;

enum class System { kSplitLearning, kSharedWeights, kOpenTop, kSharedTop, kSecureMl };
constexpr std::array kSystems{System::kSplitLearning, System::kSharedWeights, System::kOpenTop, System::kSharedTop,
                              System::kSecureMl};

std::string name_of(System system) {
  switch (system) {
    case System::kSplitLearning:
      return "SplitLearning";
    case System::kSharedWeights:
      return "ModelSSWithoutGradSS";
    case System::kOpenTop:
      return "OpenTop";
    case System::kSharedTop:
      return "SharedTop";
    case System::kSecureMl:
      break;
  }
  return "SecureML";
}

std::vector<double> numbers(const Tensor& values) {
  const Tensor flat = values.contiguous().to(torch::kFloat64);
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

data::Table table_of(const Tensor& values, const Tensor& labels = {}) {
  return data::Table::dense(static_cast<std::size_t>(values.size(0)), static_cast<std::size_t>(values.size(1)),
                            numbers(values), labels.defined() ? numbers(labels) : std::vector<double>{});
}

VerticalRows vertical(const TwoTables& rows) {
  return {.a = rows_of_table(table_of(rows.a), false), .b = rows_of_table(table_of(rows.b, rows.labels), true)};
}

Words words_of(const Tensor& values) {
  return secureml::encode(static_cast<std::size_t>(values.size(0)), static_cast<std::size_t>(values.size(1)),
                          numbers(values));
}

Tensor tensor_of(const Words& words) {
  return numbers_of(secureml::to_shares(words, secureml::kFractionBits));
}

/// What a party of SecureML has of a linear or logistic regression that both train.
struct SecureMlParty {
  Words weight;                          ///< its share at the end
  std::vector<Words> predictions;        ///< its shares of all rows' predictions, after each epoch
  std::vector<Words> weights_by_epochs;  ///< its shares of weights then
};

struct SecureMlTask {
  Output output = Output::kPiecewiseSigmoid;
  std::size_t outputs = 1;
  std::size_t batch = 64;
  std::size_t epochs = 1;
  int rate_bits = 7;
  double start = 0;  ///< standard deviation of initial weights
};

/// Trains on the first `trained` rows.
std::pair<SecureMlParty, SecureMlParty> run_secureml(const TwoTables& rows, std::size_t trained,
                                                     const SecureMlTask& task) {
  const auto in_a = static_cast<std::size_t>(rows.a.size(1));
  const auto in_b = static_cast<std::size_t>(rows.b.size(1));
  const auto all = static_cast<std::size_t>(rows.b.size(0));
  const Tensor labels = rows.labels.unsqueeze(1).expand({rows.labels.size(0), static_cast<std::int64_t>(task.outputs)});
  torch::Generator random = at::detail::createCPUGenerator(5);
  const Tensor start =
      task.start * torch::randn({static_cast<std::int64_t>(in_a + in_b), static_cast<std::int64_t>(task.outputs)},
                                random, torch::dtype(torch::kFloat64));
  TripletParties parties(Triplets::kThirdParty);
  return parties.run([&](protocol::Session& session, secureml::TripletSource& source) {
    const bool at_a = session.party() == Party::kA;
    Words features = secureml::share_columns(session, words_of(at_a ? rows.a : rows.b), at_a ? in_b : in_a);
    Words shared_labels =
        at_a ? secureml::share_of_b(session, all, task.outputs) : secureml::share_of_b(session, words_of(labels));
    std::vector<Words> weights;
    weights.push_back(at_a ? secureml::share_of_b(session, in_a + in_b, task.outputs)
                           : secureml::share_of_b(session, words_of(start)));
    secureml::Model model(session, source,
                          {.widths = {in_a + in_b, task.outputs}, .output = task.output, .rate_bits = task.rate_bits},
                          std::move(features), std::move(shared_labels), std::move(weights));
    SecureMlParty seen;
    for (std::size_t epoch = 0; epoch < task.epochs; ++epoch) {
      for (std::size_t first = 0; first + task.batch <= trained; first += task.batch) {
        std::vector<std::uint32_t> batch(task.batch);
        std::iota(batch.begin(), batch.end(), static_cast<std::uint32_t>(first));
        model.step(batch);
      }
      seen.predictions.push_back(model.predict(secureml::all_rows(all)));
      seen.weights_by_epochs.push_back(model.weights().front());
    }
    seen.weight = model.weights().front();
    return seen;
  });
}

/// Released scores of all rows, of a model that was trained on the first `trained` of them: logits; of SecureML, whose
/// sigmoid is clamp(z + 1/2, 0, 1), what it leaves of z.
Tensor scores_of(System system, const TwoTables& rows, std::size_t trained, std::size_t epochs) {
  const VerticalRows all = vertical(rows);
  const VerticalRows training = part_of(all, 0, trained);
  const train::TrainOptions options{.epochs = epochs, .batch = 64, .sgd = {.learning_rate = 0.5}};
  if (system == System::kSplitLearning) {
    const baselines::SplitSpec spec{.in_a = all.a.numeric.cols(), .in_b = all.b.numeric.cols()};
    return baselines::run_split_learning(training, all, spec, options).scores.to(torch::kFloat64);
  }
  if (system == System::kSecureMl) {
    const auto [a, b] = run_secureml(rows, trained, {.epochs = epochs});
    return tensor_of(a.predictions.back() + b.predictions.back()) - 0.5;
  }
  const baselines::SharedWeightsSpec spec{
      .parts = system == System::kSharedWeights ? baselines::SharedParts::kWeights
                                                : baselines::SharedParts::kWeightsAndGradients,
      .top = system == System::kSharedTop ? protocol::Top::kShared : protocol::Top::kOpen};
  return baselines::run_shared_weights(he::LatticeScheme(), training, all, spec, options).scores.to(torch::kFloat64);
}

class EverySystem : public ::testing::TestWithParam<System> {};

std::vector<double> labels_between(const TwoTables& rows, std::int64_t begin, std::int64_t end) {
  return numbers(rows.labels.slice(0, begin, end));
}

double membership_of(const Tensor& scores, const TwoTables& rows, std::int64_t begin, std::int64_t middle,
                     std::int64_t end) {
  // Clamped scores lie within 1/2 of 0: any factor leaves the order of the losses of a label as it is.
  return attack_membership(Family::kLogistic, {8 * scores.slice(0, begin, middle), labels_between(rows, begin, middle)},
                           {8 * scores.slice(0, middle, end), labels_between(rows, middle, end)})
      .value;
}

TEST_P(EverySystem, TellsByScoresWhichRowsItLearntByHeart) {
  constexpr std::int64_t kTrained = 64;
  const TwoTables rows = synthetic_columns(2 * kTrained, 50, 50, 3);
  const double told = membership_of(scores_of(GetParam(), rows, kTrained, 60), rows, 0, kTrained, 2 * kTrained);
  std::cout << name_of(GetParam()) << ": membership by scores, AUC " << told << ", chance 0.5\n";
  EXPECT_GT(told, 0.75);
}

TEST_P(EverySystem, DoesNotTellByScoresRowsThatItNeverSawApart) {
  constexpr std::int64_t kRows = 64;
  std::vector<double> told;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const TwoTables rows = synthetic_columns(3 * kRows, 8, 8, seed);
    told.push_back(membership_of(scores_of(GetParam(), rows, kRows, 3), rows, kRows, 2 * kRows, 3 * kRows));
  }
  expect_chance(name_of(GetParam()) + ": membership of rows that were not trained with", told);
}

/// Rows of few binary features at A, and scores of them.
struct Released {
  TwoTables rows;
  Tensor scores;  ///< rows x 1
};

constexpr std::int64_t kColumnsA = 4;
constexpr int kScoreBits = 10;
constexpr int kSharedTopBits = 4;  // that it releases by default

Released released(System system) {
  constexpr std::size_t kRows = 1024;
  constexpr std::size_t kTrained = 512;
  Released all{.rows = synthetic_columns(kRows, kColumnsA, 5, 11), .scores = {}};
  all.scores = scores_of(system, all.rows, kTrained, 3);
  return all;
}

Tensor shuffled(const Tensor& rows, std::uint64_t seed) {
  torch::Generator random = at::detail::createCPUGenerator(seed);
  return rows.index_select(0, torch::randperm(rows.size(0), random, torch::dtype(torch::kInt64)));
}

TEST_P(EverySystem, GivesItsModelAwayWithItsScores) {
  constexpr std::int64_t kQueried = 512;
  const Released all = released(GetParam());
  const Tensor features = torch::cat({all.rows.a, all.rows.b}, 1);
  const auto stolen_from = [&](const Tensor& scores) {
    return attack_model(features.slice(0, 0, kQueried), scores.slice(0, 0, kQueried), features.slice(0, kQueried),
                        all.scores.slice(0, kQueried))
        .correlation;
  };
  const double stolen = stolen_from(all.scores);
  std::cout << name_of(GetParam()) << ": stolen model's correlation " << stolen << ", chance 0\n";
  EXPECT_GT(stolen, GetParam() == System::kSecureMl ? 0.9 : 0.99);  // a clamp is not linear
  std::vector<double> of_others;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) of_others.push_back(stolen_from(shuffled(all.scores, seed)));
  expect_chance(name_of(GetParam()) + ": stolen from scores of other rows", of_others, 0);
}

TEST_P(EverySystem, GivesPatternsOfAFewFeaturesAwayWithItsScores) {
  const Released all = released(GetParam());
  // Where SecureML's sigmoid is 0 or 1 it tells nothing, and whoever has the scores sees where that is.
  const Tensor inside = (all.scores.squeeze(1).abs() < 0.499).nonzero().squeeze(1);
  const bool clamped = GetParam() == System::kSecureMl;
  const Tensor scores = clamped ? all.scores.index_select(0, inside) : all.scores;
  const Tensor of_a = clamped ? all.rows.a.index_select(0, inside) : all.rows.a;
  const Tensor of_b = clamped ? all.rows.b.index_select(0, inside) : all.rows.b;
  const bool shared = GetParam() == System::kSharedTop;
  const int bits = shared ? kSharedTopBits : kScoreBits;
  const Tensor rounded = (scores.squeeze(1) * std::exp2(bits)).round() / std::exp2(bits);
  EXPECT_TRUE(!shared || torch::equal(rounded, scores.squeeze(1))) << "it is released with as many bits";
  const PatternFraction told = fraction_of(attack_scores(rounded, of_b, bits, kColumnsA), of_a);
  std::cout << name_of(GetParam()) << ": A's patterns by scores of " << rounded.size(0) << " rows at " << bits
            << " bits: " << told.told << ", guess " << told.guess << "\n";
  EXPECT_GT(told.told, shared ? 0.5 : 0.9);
  const PatternFraction of_others =
      fraction_of(attack_scores(shuffled(rounded, 1), of_b, bits, kColumnsA, {.starts = 8}), of_a);
  EXPECT_LE(of_others.told, of_others.guess);
}

INSTANTIATE_TEST_SUITE_P(Systems, EverySystem, ::testing::ValuesIn(kSystems),
                         [](const auto& system) { return name_of(system.param); });

// Attacks on Z, on what B has in its place.

constexpr std::int64_t kWideA = 12;
constexpr std::size_t kWideOut = 16;
constexpr int kFineBits = 16;

TwoTables wide_rows() {
  return synthetic_columns(256, kWideA, 4, 7);
}

/// X_A W_A of a wide layer, as split learning sends it to B, opened no finer than Z would be.
Tensor sent_by_split_learning(const TwoTables& rows, std::size_t outputs, std::size_t epochs) {
  const VerticalRows all = vertical(rows);
  const baselines::SplitSpec spec{.in_a = all.a.numeric.cols(),
                                  .in_b = all.b.numeric.cols(),
                                  .outputs = outputs,
                                  .family = outputs > 1 ? Family::kMultinomial : Family::kLogistic};
  const Tensor sent =
      baselines::run_split_learning(all, all, spec, {.epochs = epochs, .batch = 64, .sgd = {.learning_rate = 0.5}})
          .contribution.to(torch::kFloat64);
  return (sent * std::exp2(kFineBits)).round() / std::exp2(kFineBits);
}

RecoveredFraction columns_in(const std::string& name, const Tensor& z, const TwoTables& rows) {
  const RecoveredFraction found = fraction_of(attack_binary_columns(z, rows.b, kFineBits), rows.a);
  std::cout << name << ": " << found.recovered << " of " << found.of << " columns by one opening\n";
  return found;
}

SecureMlTask wide_task() {
  return {.output = Output::kScores, .outputs = kWideOut, .batch = 64, .epochs = 1, .rate_bits = 12, .start = 0.3};
}

TEST(WhatBHas, OfSplitLearningGivesAsColumnsAway) {
  const TwoTables rows = wide_rows();
  const Tensor sent = sent_by_split_learning(rows, kWideOut, 1);
  EXPECT_EQ(columns_in("split learning", sent, rows).recovered, static_cast<std::size_t>(kWideA));
  EXPECT_EQ(columns_mixed(attack_regression(sent, rows.b), rows.a, rows.b), static_cast<std::size_t>(kWideA));
}

TEST(WhatBHas, OfSecureMlGivesNoColumnsAway) {
  const TwoTables rows = wide_rows();
  const auto [a, b] = run_secureml(rows, 256, wide_task());
  const Tensor share = tensor_of(b.predictions.back());
  EXPECT_EQ(columns_in("SecureML, B's share", share, rows).recovered, 0U);
  const Tensor weight = tensor_of(a.weight + b.weight);
  const Tensor contribution = torch::mm(rows.a, weight.slice(0, 0, kWideA));
  const Tensor estimate = attack_regression(share, rows.b);
  const Nearness near = correlation_with(estimate, contribution, rows.b);
  std::cout << "SecureML, B's share: correlation with X_A W_A " << near.value << ", chance " << near.chance << "\n";
  EXPECT_LT(near.value, 2.5 * near.chance);
  EXPECT_EQ(columns_mixed(estimate, rows.a, rows.b), 0U);
  // The same numbers as soon as A's share is added. Each is rounded once more at random, so that no column is exact.
  const Tensor opened = tensor_of(a.predictions.back() + b.predictions.back());
  EXPECT_GT(correlation_with(attack_regression(opened, rows.b), contribution, rows.b).value, 0.999);
}

/// What B has of the same rows after each epoch.
std::size_t columns_by_differences(const std::string& name, const std::vector<Opening>& openings, const TwoTables& rows,
                                   int bits) {
  const RecoveredFraction found = fraction_of(attack_differences(openings, rows.b, bits), rows.a);
  std::cout << name << ": " << found.recovered << " of " << found.of << " columns by " << openings.size()
            << " openings\n";
  return found.recovered;
}

constexpr std::int64_t kNarrowA = 6;
constexpr std::size_t kOpenings = 12;
TwoTables narrow_rows() {
  return synthetic_columns(256, kNarrowA, 5, 7);
}

TEST(WhatBHas, OfSplitLearningGivesColumnsAwayWithOneOutputToo) {
  const TwoTables rows = narrow_rows();
  std::vector<Opening> openings;
  // X_A W_A has nothing of B's in it, as if B's share of its weights never changed.
  for (std::size_t epochs = 1; epochs <= kOpenings; ++epochs) {
    openings.push_back({sent_by_split_learning(rows, 1, epochs), torch::zeros({5, 1}, torch::kFloat64)});
  }
  EXPECT_EQ(columns_by_differences("split learning", openings, rows, kFineBits), static_cast<std::size_t>(kNarrowA));
}

TEST(WhatBHas, OfSecureMlGivesNoColumnsAwayInAllEpochs) {
  const TwoTables rows = narrow_rows();
  const auto [a, b] = run_secureml(rows, 256, {.output = Output::kScores, .epochs = kOpenings, .start = 1});
  std::vector<Opening> openings;
  for (std::size_t i = 0; i < kOpenings; ++i) {
    openings.push_back({tensor_of(b.predictions[i]), tensor_of(b.weights_by_epochs[i]).slice(0, kNarrowA)});
  }
  EXPECT_EQ(columns_by_differences("SecureML, B's shares", openings, rows, kFineBits), 0U);
}

TEST(WhatBHas, OfOneOutputGivesColumnsToLatticeReductionInSplitLearningAndNotInSecureMl) {
  constexpr std::size_t kColumns = 8;
  constexpr std::size_t kRows = 32;
  constexpr int kLatticeBits = 20;  // of 24 that a float has
  TwoTables rows = synthetic_columns(kRows, kColumns, 1, 7);
  std::size_t split = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const VerticalRows all = vertical(rows);
    const Tensor sent =
        baselines::run_split_learning(all, all, {.in_a = kColumns, .in_b = 1},
                                      {.epochs = 1, .batch = kRows, .sgd = {.learning_rate = 0.5}}, seed)
            .contribution.to(torch::kFloat64);
    const Tensor units = (sent * std::exp2(kLatticeBits)).round() / std::exp2(kLatticeBits);
    split += fraction_of(attack_lattice(units, kLatticeBits, kColumns, kRows), rows.a).recovered;
  }
  const auto [a, b] = run_secureml(rows, kRows, {.output = Output::kScores, .batch = 32, .start = 1});
  const Tensor share = tensor_of(b.predictions.back());
  const std::size_t shares =
      fraction_of(attack_lattice((share / share.abs().max() * 0x1p40).round(), 0, kColumns, kRows), rows.a).recovered;
  std::cout << "lattice reduction: " << split << " of " << 4 * kColumns << " columns in split learning, " << shares
            << " of " << kColumns << " in SecureML\n";
  EXPECT_GE(split, kColumns);
  EXPECT_LE(shares, 1U);
}

// The paper's third figure.
TEST(WhatAHas, OfSecureMlsWeightsIsNotLikeThem) {
  const TwoTables rows = synthetic_columns(256, 40, 40, 9);
  const auto [a, b] = run_secureml(rows, 256, {.epochs = 4});
  const Tensor weight = tensor_of(a.weight + b.weight);
  EXPECT_GT(weight.abs().max().item<double>(), 0.1);
  const ShareLikeness alike = compare_shares(tensor_of(a.weight), weight);
  std::cout << "SecureML, A's share of weights: correlation " << alike.correlation << ", by chance within "
            << 3 / std::sqrt(80.0) << ", share " << alike.share_size / alike.weight_size << " times as large\n";
  EXPECT_LT(std::abs(alike.correlation), 4 / std::sqrt(80.0));
  EXPECT_GT(alike.share_size, 1e9 * alike.weight_size);
}

TEST(WhatAHas, OfWeightsIsLikeThemWithoutSharedGradientsAlone) {
  const VerticalRows all = vertical(synthetic_columns(256, 40, 40, 9));
  const train::TrainOptions options{.epochs = 6, .batch = 64, .sgd = {.learning_rate = 2}};
  const auto alike = [&](const char* name, baselines::SharedParts parts, protocol::Top top) {
    const auto run =
        baselines::run_shared_weights(he::LatticeScheme(), all, all, {.parts = parts, .top = top}, options);
    const ShareLikeness found = compare_shares(run.share, run.weight);
    std::cout << name << ": correlation " << found.correlation << ", share " << found.share_size / found.weight_size
              << " times as large\n";
    return found;
  };
  constexpr auto kBoth = baselines::SharedParts::kWeightsAndGradients;
  EXPECT_GT(alike("ModelSS without GradSS", baselines::SharedParts::kWeights, protocol::Top::kOpen).correlation, 0.6);
  for (const protocol::Top top : {protocol::Top::kOpen, protocol::Top::kShared}) {
    const ShareLikeness ours = alike(top == protocol::Top::kOpen ? "open top" : "shared top", kBoth, top);
    EXPECT_LT(std::abs(ours.correlation), 4 / std::sqrt(40.0));
    EXPECT_GT(ours.share_size, 1e9 * ours.weight_size);
  }
}

}  // namespace
}  // namespace blindfl::lab::attacks::every_system_test
