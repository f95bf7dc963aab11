#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>

// What a B that follows the protocol and only looks makes of the scores of a finished logistic regression, which it
// gets under any top and any protocol. A score is `x_A w_A + x_B w_B + bias`, rounded: what is left of it beside B's
// own part takes one value for each pattern of A's binary features, and rows of the same pattern lie together.

namespace blindfl::lab::attacks {

/// How rows are told apart by what is left of their scores.
enum class ScoreClusters {
  /// Clusters end at gaps that are wider than the rounding. Best where patterns are far apart for it, and blind where
  /// they are not.
  kGaps,
  /// The clusters are the 2^columns_a sums of as many weights, which are fitted together with B's: few unknowns for
  /// many rows, so that rounding averages out. Patterns closer than a unit of the scores still overlap.
  kSums,
  /// Whichever explains the scores better.
  kBoth,
};

struct ScoreSearch {
  ScoreClusters clusters = ScoreClusters::kBoth;
  std::int64_t starts = 96;  ///< of the fit of sums: fewer, where one explains the scores but for their rounding
  std::uint64_t seed = 1;    ///< of the random choices: equal seeds find the same
};

/// Which rows an attack holds for alike in all of A's features.
struct ToldPatterns {
  torch::Tensor cluster;  ///< one number for each row, from 0
  /// What the clusters and B's features do not explain, as a root of mean squares in units of the scores. Rounding
  /// alone leaves 0.29: B can see from it whether a fit is right.
  double misfit = 0;
};

/// Tells patterns of A's features apart.
/// Needs of B's view: `scores`, one logit for each row, rounded to `score_bits` fractional bits; `features_b`, rows x
/// B's features, perhaps none; and how many binary features A has, which both parties know as they know all shapes.
/// Reveals: which rows agree in all of A's features, up to the patterns' names; not their weights' signs.
/// Cost: `starts` fits of `columns_a` numbers at most, each of some passes over the rows.
/// Throws InvalidArgument if the numbers of rows differ, if there are fewer rows than unknowns, or if A has not from 1
/// to 12 columns.
[[nodiscard]] ToldPatterns attack_scores(const torch::Tensor& scores, const torch::Tensor& features_b, int score_bits,
                                         std::int64_t columns_a, const ScoreSearch& search = {});

/// How many rows' patterns were told apart.
struct PatternFraction {
  double told = 0;   ///< rows in the cluster that stands for their pattern: each stands for one, no two for the same
  double guess = 0;  ///< rows that have the most common pattern: what one cluster of all rows would tell
};

/// `features_a` is the truth, which only tests and experiments have, in zeros and ones. Clusters are given to patterns
/// by the rows that they have in common, most first.
[[nodiscard]] PatternFraction fraction_of(const ToldPatterns& told, const torch::Tensor& features_a);

}  // namespace blindfl::lab::attacks
