// What a party can measure on its own view, beside what the same attacks make of random numbers: it shows under an open
// top, and of masked shares it is chance.

#include "blindfl/lab/attacks/own_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/lab/attacks/attack_data.h"
#include "blindfl/lab/attacks/recorded_view.h"
#include "blindfl/nn/bridge.h"
#include "testing/plain/plain_scheme.h"

namespace blindfl::lab::attacks::own_view_test {
namespace {

using ::testing::HasSubstr;
using torch::Tensor;
using torch::indexing::Slice;

constexpr std::int64_t kRows = 512;
constexpr int kOutputScale = 16;

const run::AttackFigure* figure_of(const run::AttackResults& results, const std::string& attack) {
  const auto found = std::ranges::find(results.figures, attack, &run::AttackFigure::attack);
  return found == results.figures.end() ? nullptr : &*found;
}

/// Says what came of it, and whether it gives away; fails if it was not tried.
bool gives_away(const run::AttackResults& results, const std::string& attack) {
  const run::AttackFigure* figure = figure_of(results, attack);
  if (figure == nullptr) {
    ADD_FAILURE() << attack << " was not tried";
    return false;
  }
  std::cout << attack << ", " << figure->of << ": " << figure->value << ", by chance " << figure->chance << " +- "
            << figure->standard_error << "\n";
  return run::gives_away(*figure);
}

/// Numbers in Z_2^64 that are the same every time.
ShareMatrix drawn_share(std::size_t rows, std::size_t cols, std::uint64_t seed) {
  torch::Generator random = at::detail::createCPUGenerator(seed);
  ShareMatrix share(rows, cols, kOutputScale, 64);
  const Tensor halves = torch::randint(std::int64_t{1} << 32, {nn::torch_size(2 * share.values().size())}, random,
                                       torch::dtype(torch::kInt64));
  for (std::size_t i = 0; i < share.values().size(); ++i) {
    const auto half = [&](std::size_t at) {
      return static_cast<UInt128>(halves[nn::torch_size(at)].item<std::int64_t>());
    };
    share.values()[i] = (half(2 * i) << 32) | half(2 * i + 1);
  }
  return share;
}

/// B's view of one opening, without the truth.
OwnView view_of(const TwoTables& rows, const Tensor& z) {
  OwnView view;
  view.layer = "source";
  view.opened = true;
  view.output_scale = kOutputScale;
  view.z = {z};
  view.own = rows.b;
  view.peer_columns = static_cast<std::size_t>(rows.a.size(1));
  return view;
}

/// Scored for real, once for all tests.
const TwoTables& people() {
  static const TwoTables rows = synthetic_columns(kRows, 8, 4, 7);
  return rows;
}
const Tensor& opened() {
  static const Tensor z = record_scoring(he::LatticeScheme(), people(), {.out = 12, .batch = 256});
  return z;
}

run::AttackResults attacked(const OwnView& view) {
  run::AttackResults results;
  audit_uniformity(view, results);
  audit_binary_columns(view, {}, results);
  audit_regression(view, {}, results);
  return results;
}

TEST(OwnView, GivesAwayBinaryColumnsUnderAnOpenTop) {
  OwnView view = view_of(people(), opened());
  run::AttackResults results = attacked(view);
  EXPECT_TRUE(gives_away(results, "binary columns from one opening"));
  EXPECT_EQ(figure_of(results, "binary columns from one opening")->value, 8);
  EXPECT_TRUE(gives_away(results, "the space of the peer's columns"));
  EXPECT_EQ(figure_of(results, "the space of the peer's columns")->value, 8) << "of 12 outputs";
  ASSERT_EQ(results.untried.size(), 1U);
  EXPECT_THAT(results.untried[0].why, HasSubstr("--truth"));

  view.peer = people().a;
  results = attacked(view);
  EXPECT_TRUE(gives_away(results, "binary columns from one opening"));
  EXPECT_EQ(figure_of(results, "binary columns from one opening")->value, 1) << "all columns, right in all rows";
  EXPECT_TRUE(gives_away(results, "least squares, beside the peer's columns"));
  EXPECT_THAT(figure_of(results, "binary columns from one opening")->advice, HasSubstr("shared.model.top"));
}

// Too many dimensions for the searches, and still all is there: A's columns are those of no other space.
TEST(OwnView, ShowsTheWholeSpaceOfColumnsThatNoSearchFinds) {
  TwoTables rows = synthetic_columns(kRows, 8, 4, 7);
  rows.a = torch::randn({kRows, 8}, at::detail::createCPUGenerator(8), torch::dtype(torch::kFloat64));
  const auto opened_with = [&](std::int64_t outputs) {
    const Tensor weights = torch::randn({8, outputs}, at::detail::createCPUGenerator(3), torch::dtype(torch::kFloat64));
    return view_of(rows, torch::mm(rows.a, weights) + rows.b.sum(1, true));
  };
  const run::AttackResults wide = attacked(opened_with(12));
  EXPECT_FALSE(gives_away(wide, "binary columns from one opening"));
  EXPECT_TRUE(gives_away(wide, "the space of the peer's columns"));
  const run::AttackResults narrow = attacked(opened_with(5));
  EXPECT_FALSE(gives_away(narrow, "the space of the peer's columns"));
}

// Encoded with another center and scale, a column of two values is no safer.
TEST(OwnView, GivesAwayColumnsOfAnyTwoValues) {
  TwoTables rows = people();
  rows.a = rows.a * 1.75 - 0.5;
  const Tensor weights = torch::randn({8, 12}, at::detail::createCPUGenerator(3), torch::dtype(torch::kFloat64));
  OwnView view = view_of(rows, torch::mm(rows.a, weights) + rows.b.sum(1, true));
  view.peer = rows.a;
  const run::AttackResults results = attacked(view);
  EXPECT_TRUE(gives_away(results, "binary columns from one opening"));
  EXPECT_EQ(figure_of(results, "binary columns from one opening")->value, 1);
}

TEST(OwnView, GivesAwayColumnsOfOneOutputThatIsOpenedSeveralTimes) {
  const TwoTables all = synthetic_columns(768, 6, 5, 7);
  const TwoTables kept_back = rows_between(all, 512, 768);
  const ViewOptions options{.out = 1, .batch = 128, .initial_deviation = 1.0, .epochs = 16, .learning_rate = 0.5};
  OwnView view = view_of(kept_back, {});
  view.z.clear();
  for (const Opening& each :
       record_validations(testing::PlainScheme(), rows_between(all, 0, 512), kept_back, options)) {
    view.z.push_back(each.z);
    view.share_b.push_back(each.share_b);
  }
  view.peer = kept_back.a;
  run::AttackResults results;
  audit_binary_columns(view, {}, results);
  EXPECT_FALSE(gives_away(results, "binary columns from one opening"));
  EXPECT_TRUE(gives_away(results, "binary columns from several openings"));
  EXPECT_EQ(figure_of(results, "binary columns from several openings")->value, 1);
}

// The share is Z without a mask that is drawn here, so that chance is the same in every run of the test.
TEST(OwnView, OfASharedTopGivesAwayNoMoreThanChance) {
  const ShareMatrix mask = drawn_share(kRows, 12, 5);
  const ShareMatrix share = encode_ring(kRows, 12, nn::to_vector(opened()), kOutputScale, 0x1p40);
  OwnView view = view_of(people(), {});
  view.opened = false;
  view.shares = {narrowed(share, 64) - mask};
  view.z = {numbers_of(view.shares[0])};
  view.peer = people().a;
  view.labels = nn::to_vector(people().labels);
  const run::AttackResults results = attacked(view);
  EXPECT_EQ(results.figures.size(), 5U);
  for (const run::AttackFigure& figure : results.figures) {
    EXPECT_FALSE(gives_away(results, figure.attack));
    EXPECT_LE(std::abs(figure.value - figure.chance), 3 * figure.standard_error) << figure.attack;
  }
  // It is the mask: the same numbers without it give themselves away.
  view.shares = {narrowed(share, 64)};
  view.z = {numbers_of(view.shares[0])};
  const run::AttackResults unmasked = attacked(view);
  for (const run::AttackFigure& figure : unmasked.figures) EXPECT_TRUE(gives_away(unmasked, figure.attack));
}

// What the protocol itself leaves B with.
TEST(OwnView, OfARealSharedTopHidesBinaryColumns) {
  OwnView view = view_of(people(), record_scoring(he::LatticeScheme(), people(),
                                                  {.out = 12, .batch = 256, .top = protocol::Top::kShared}));
  view.opened = false;
  run::AttackResults results;
  audit_binary_columns(view, {}, results);
  EXPECT_FALSE(gives_away(results, "binary columns from one opening"));
  EXPECT_EQ(figure_of(results, "binary columns from one opening")->value, 0);
}

TEST(OwnView, SaysWhatTooFewRowsDoNotTell) {
  OwnView view = view_of(rows_between(people(), 0, 20), opened().index({Slice(0, 20)}));
  view.peer = people().a.index({Slice(0, 20)});
  const run::AttackResults results = attacked(view);
  EXPECT_TRUE(results.figures.empty());
  EXPECT_EQ(results.untried.size(), 2U);
}

/// One output of a B without features.
OwnView single_output(int output_scale) {
  const TwoTables rows = synthetic_columns(64, 8, 0, 7);
  const Tensor weights = torch::randn({8, 1}, at::detail::createCPUGenerator(4), torch::dtype(torch::kFloat64));
  const double unit = std::ldexp(1.0, -output_scale);
  const Tensor rounded_weights = (weights / unit).round() * unit;
  OwnView view = view_of(rows, torch::mm(rows.a, rounded_weights));
  view.output_scale = output_scale;
  return view;
}

TEST(OwnView, GivesAwayColumnsToLatticeReductionAtFullPrecision) {
  for (const bool with_truth : {false, true}) {
    OwnView fine = single_output(36);
    OwnView coarse = single_output(4);
    if (with_truth) fine.peer = coarse.peer = synthetic_columns(64, 8, 0, 7).a;
    run::AttackResults results;
    audit_lattice(fine, {}, results);
    EXPECT_TRUE(gives_away(results, "lattice reduction"));
    EXPECT_EQ(results.figures.back().value, with_truth ? 1 : 8);
    results = {};
    audit_lattice(coarse, {}, results);
    EXPECT_FALSE(gives_away(results, "lattice reduction"));
  }
}

/// Scores of rows of a logistic regression with 3 binary features at A.
OwnScores scored(int score_bits) {
  const TwoTables rows = synthetic_columns(500, 3, 4, 11);
  const Tensor score = torch::mv(rows.a, torch::tensor({1.9, -0.8, 3.3}, torch::kFloat64)) + rows.b.sum(1);
  OwnScores scores;
  scores.score_bits = score_bits;
  const double unit = std::ldexp(1.0, -score_bits);
  scores.scores = ((score / unit).round() * unit).unsqueeze(1);
  scores.own = rows.b;
  scores.peer_columns = 3;
  scores.peer = rows.a;
  const Tensor luck = torch::randn({500}, at::detail::createCPUGenerator(12), torch::dtype(torch::kFloat64));
  scores.labels = nn::to_vector((score + 3 * luck > 0).to(torch::kFloat64));
  return scores;
}

constexpr const char* kPatterns = "patterns of A's features from scores";

TEST(OwnScores, GiveAwayPatternsOfFewFeatures) {
  OwnScores scores = scored(8);
  run::AttackResults results;
  audit_patterns(scores, {.draws_of_search = 5}, results);
  EXPECT_TRUE(gives_away(results, kPatterns));
  EXPECT_GT(results.figures.back().value, 0.99);
  scores.peer = Tensor();
  audit_patterns(scores, {.draws_of_search = 5}, results);
  EXPECT_TRUE(run::gives_away(results.figures.back())) << results.figures.back().value;
  EXPECT_NEAR(results.figures.back().value, 0.29, 0.02) << "what rounding leaves";
}

TEST(OwnScores, GiveAwayNoPatternsOfWhatHasNone) {
  OwnScores scores = scored(8);
  const Tensor smooth = torch::randn({500}, at::detail::createCPUGenerator(2), torch::dtype(torch::kFloat64));
  scores.scores = ((scores.own.sum(1) + smooth) * 256).round().unsqueeze(1) / 256;
  for (const bool with_truth : {true, false}) {
    if (!with_truth) scores.peer = Tensor();
    run::AttackResults results;
    audit_patterns(scores, {.draws_of_search = 5}, results);
    EXPECT_FALSE(gives_away(results, kPatterns));
  }
}

TEST(OwnScores, GiveTheModelToWhoeverHasAllFeatures) {
  OwnScores scores = scored(8);
  run::AttackResults results;
  audit_model(scores, {}, results);
  EXPECT_TRUE(gives_away(results, "a copy of the model from scores"));
  EXPECT_LT(results.figures.back().value, -4) << "but for the rounding";
  scores.scores = torch::randn({500, 1}, at::detail::createCPUGenerator(2), torch::dtype(torch::kFloat64));
  results = {};
  audit_model(scores, {}, results);
  EXPECT_FALSE(gives_away(results, "a copy of the model from scores"));
}

TEST(OwnScores, TellRowsThatWereLearntByHeart) {
  const OwnScores fresh = scored(8);
  OwnScores trained = fresh;
  run::AttackResults results;
  audit_membership(trained, fresh, results);
  EXPECT_FALSE(gives_away(results, "which rows were trained with"));
  const Tensor labels = nn::to_tensor(trained.labels).to(torch::kFloat64).unsqueeze(1);
  trained.scores = trained.scores + 4 * (2 * labels - 1);
  results = {};
  audit_membership(trained, fresh, results);
  EXPECT_TRUE(gives_away(results, "which rows were trained with"));
}

TEST(OwnWeights, GiveLabelsAwayOnlyWhereAOwnsThem) {
  constexpr std::int64_t kColumns = 24;
  const TwoTables rows = synthetic_columns(kRows, kColumns, 4, 7);
  OwnWeights weights;
  weights.layer = "source";
  weights.features = rows.a;
  weights.labels = nn::to_vector(rows.labels);
  weights.weights = torch::linalg::pinv(rows.a - rows.a.mean(0), 1e-9).mv(rows.labels - 0.5).unsqueeze(1);
  weights.first = torch::zeros({kColumns, 1}, torch::kFloat64);
  weights.last = weights.weights;  // as in split learning
  run::AttackResults results;
  audit_weights(weights, {}, results);
  for (const char* attack : {"labels by X_A U_A", "labels by X_A (U_A - U_A at first)", "weights beside A's shares"}) {
    EXPECT_TRUE(gives_away(results, attack));
  }
  const Tensor mask = numbers_of(drawn_share(kColumns, 1, 9));
  weights.first = weights.first - mask / 2;
  weights.last = weights.last - mask;
  results = {};
  audit_weights(weights, {}, results);
  ASSERT_EQ(results.figures.size(), 3U);
  for (const run::AttackFigure& figure : results.figures) EXPECT_FALSE(gives_away(results, figure.attack));
}

// Without labels there is still a shape to look at.
TEST(OwnWeights, ShowTwoGroupsOfRows) {
  const Tensor parted = torch::cat({torch::ones({200, 1}), torch::zeros({200, 1})}).to(torch::kFloat64);
  OwnWeights weights;
  weights.layer = "source";
  weights.features = torch::randn({400, 6}, at::detail::createCPUGenerator(6), torch::dtype(torch::kFloat64)) * 0.2;
  weights.features.select(1, 0) += 2 * parted.squeeze(1);
  weights.last = torch::tensor({1.0, 0.0, 0.0, 0.0, 0.0, 0.0}, torch::kFloat64).unsqueeze(1);
  run::AttackResults results;
  audit_weights(weights, {}, results);
  ASSERT_EQ(results.figures.size(), 1U);
  EXPECT_THAT(results.figures[0].measure, HasSubstr("bimodality"));
  EXPECT_GT(results.figures[0].value, 0.8);
  EXPECT_EQ(results.untried.size(), 1U);
}

}  // namespace
}  // namespace blindfl::lab::attacks::own_view_test
