// What scores of a finished logistic regression tell B of A's binary features, whatever the protocol hid until then.

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "blindfl/base/error.h"
#include "blindfl/lab/attacks/attack_scores.h"
#include "blindfl/lab/local_model.h"
#include "made_up/synthetic.h"

namespace blindfl::lab::attacks::scores_test {
namespace {

using torch::Tensor;
using torch::indexing::Slice;

constexpr std::int64_t kColumnsA = 4;
constexpr std::int64_t kColumnsB = 6;
constexpr int kFineBits = 10;
constexpr int kDefaultBits = 4;  // of `score_bits` under a shared top

/// Rows with binary features at A and real ones at B, and logits of a regression that was trained on them.
struct Scored {
  Tensor a;
  Tensor b;
  Tensor logits;

  [[nodiscard]] Tensor rounded(int bits) const { return (logits * std::exp2(bits)).round() / std::exp2(bits); }
};

/// The most likely weights of a logistic regression, by Newton's steps.
Tensor trained(const Tensor& features, const Tensor& labels) {
  Tensor weights = torch::zeros({features.size(1)}, torch::kFloat64);
  for (int i = 0; i < 12; ++i) {
    const Tensor p = torch::sigmoid(torch::mv(features, weights));
    const Tensor curvature = torch::mm(features.t(), features * (p * (1 - p)).unsqueeze(1));
    weights += torch::mv(torch::linalg::inv(curvature), torch::mv(features.t(), labels - p));
  }
  return weights;
}

/// With more noise in the labels all weights are smaller, and patterns are closer together.
Scored people(double noise) {
  const made_up::SyntheticData data =
      made_up::make_synthetic({.rows = 2000, .columns_a = kColumnsA, .columns_b = kColumnsB, .noise = noise});
  const Tensor all = lab::features_tensor(data.joined).to(torch::kFloat64);
  const Tensor a = (all.index({Slice(), Slice(0, kColumnsA)}) > 0.3).to(torch::kFloat64);
  const Tensor b = all.index({Slice(), Slice(kColumnsA)});
  const Tensor features = torch::cat({a, b, torch::ones({all.size(0), 1}, torch::kFloat64)}, 1);
  const Tensor weights = trained(features, torch::tensor(data.joined.labels(), torch::kFloat64));
  return {a, b, torch::mv(features, weights)};
}

const Scored& with_large_weights() {
  static const Scored scored = people(0);
  return scored;
}
const Scored& with_small_weights() {
  static const Scored scored = people(8);
  return scored;
}

PatternFraction told(const char* name, const Scored& scored, int bits, const ScoreSearch& search = {}) {
  const ToldPatterns patterns = attack_scores(scored.rounded(bits), scored.b, bits, kColumnsA, search);
  const PatternFraction fraction = fraction_of(patterns, scored.a);
  std::cout << name << ", " << bits << " bits: " << 100 * fraction.told << " % of rows told apart, guess "
            << 100 * fraction.guess << " %, misfit " << patterns.misfit << "\n";
  return fraction;
}
constexpr ScoreSearch kGaps{.clusters = ScoreClusters::kGaps};
constexpr ScoreSearch kSums{.clusters = ScoreClusters::kSums};

Tensor shuffled(const Tensor& rows) {
  torch::Generator random = at::detail::createCPUGenerator(3);
  return rows.index_select(0, torch::randperm(rows.size(0), random, torch::dtype(torch::kInt64)));
}

TEST(Scores, AtTenBitsTellEveryPatternApart) {
  for (const Scored* scored : {&with_large_weights(), &with_small_weights()}) {
    const PatternFraction fraction = told("both ways", *scored, kFineBits);
    EXPECT_EQ(fraction.told, 1.0);
    EXPECT_LT(fraction.guess, 0.2);
    EXPECT_EQ(told("gaps", *scored, kFineBits, kGaps).told, 1.0);
    EXPECT_GE(told("sums", *scored, kFineBits, kSums).told, 0.9);
  }
}

// Which says nothing about other attacks: see the next test.
TEST(Scores, AtFourBitsHideSmallWeightsFromASearchForGaps) {
  const PatternFraction fraction = told("gaps", with_small_weights(), kDefaultBits, kGaps);
  EXPECT_LE(fraction.told, fraction.guess + 0.01);
}

// The default is no protection: 16 sums of 4 weights are fitted to thousands of rows, however coarse their scores.
TEST(Scores, AtFourBitsTellMostPatternsApartAllTheSame) {
  for (const Scored* scored : {&with_large_weights(), &with_small_weights()}) {
    EXPECT_GE(told("both ways", *scored, kDefaultBits).told, 0.85);
  }
  EXPECT_GE(told("gaps", with_large_weights(), kDefaultBits, kGaps).told, 0.6);
}

TEST(Scores, TellLessTheCoarserTheyAre) {
  const PatternFraction at_two = told("small weights", with_small_weights(), 2);
  EXPECT_GT(at_two.told, 1.5 * at_two.guess);
  const PatternFraction at_none = told("small weights", with_small_weights(), 0);
  EXPECT_LT(at_none.told, at_none.guess + 0.05);
  // What is coarse for one model is not for another.
  EXPECT_GT(told("large weights", with_large_weights(), 0).told, 1.5 * at_none.guess);
}

TEST(Scores, TellNothingOfRowsOfOthers) {
  for (const int bits : {kFineBits, kDefaultBits}) {
    Scored others = with_large_weights();
    others.a = shuffled(others.a);
    const PatternFraction patterns = told("shuffled patterns", others, bits);
    EXPECT_LE(patterns.told, patterns.guess);
    others = with_large_weights();
    others.logits = shuffled(others.logits);
    const PatternFraction scores = told("shuffled scores", others, bits, {.starts = 8});
    EXPECT_LE(scores.told, scores.guess);
  }
}

TEST(Scores, AreCountedByClustersThatStandForOnePatternEach) {
  const Tensor a = torch::tensor({{0, 0}, {0, 0}, {0, 1}, {1, 1}, {1, 1}, {1, 1}});
  const auto fraction = [&](const std::vector<std::int64_t>& clusters) {
    return fraction_of({.cluster = torch::tensor(clusters, torch::kInt64)}, a);
  };
  EXPECT_EQ(fraction({2, 2, 0, 1, 1, 1}).told, 1.0);
  EXPECT_EQ(fraction({0, 0, 0, 0, 0, 0}).told, 0.5);
  EXPECT_EQ(fraction({0, 0, 0, 0, 0, 0}).guess, 0.5);
  EXPECT_EQ(fraction({0, 0, 0, 1, 1, 1}).told, 5.0 / 6);
  EXPECT_EQ(fraction({0, 1, 2, 3, 4, 5}).told, 0.5) << "a row each: no two clusters stand for the same pattern";
}

TEST(Scores, OfFewRowsOrOtherRowsAreRefused) {
  const Tensor scores = torch::zeros({20});
  EXPECT_THROW((void)attack_scores(scores, torch::zeros({21, 2}), 4, 2), InvalidArgument);
  EXPECT_THROW((void)attack_scores(scores, torch::zeros({20, 2}), 4, 0), InvalidArgument);
  EXPECT_THROW((void)attack_scores(scores, torch::zeros({20, 2}), 4, 13), InvalidArgument);
  EXPECT_THROW((void)attack_scores(scores, torch::zeros({20, 16}), 4, 4), InvalidArgument);
  EXPECT_THROW((void)fraction_of({.cluster = torch::zeros({3}, torch::kInt64)}, torch::zeros({4, 1})), InvalidArgument);
}

}  // namespace
}  // namespace blindfl::lab::attacks::scores_test
