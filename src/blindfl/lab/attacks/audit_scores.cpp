// What B, or whoever B gives them to, makes of released scores.

#include <algorithm>
#include <cmath>

#include "blindfl/base/number_text.h"
#include "blindfl/lab/attacks/attack_membership.h"
#include "blindfl/lab/attacks/attack_model.h"
#include "blindfl/lab/attacks/attack_scores.h"
#include "blindfl/lab/attacks/audit_parts.h"
#include "blindfl/lab/attacks/own_view.h"
#include "blindfl/nn/bridge.h"

namespace blindfl::lab::attacks {

namespace {

using torch::Tensor;
using torch::indexing::Slice;

constexpr const char* kFewerBits =
    "Release coarser scores (shared.model.score_bits, under a shared top), of fewer rows, and each row once; no "
    "protocol can hide what a score itself tells.";

std::string rows_of(const OwnScores& scores) {
  return plainly_counted(static_cast<std::uint64_t>(scores.scores.size(0)), "score");
}

OwnScores first_rows(OwnScores scores, std::int64_t most) {
  const auto cut = [&](Tensor& matrix) {
    if (matrix.defined()) matrix = matrix.index({Slice(0, most)});
  };
  cut(scores.scores);
  cut(scores.own);
  cut(scores.peer);
  return scores;
}

/// As if A's part were a normal number of the same size: what B's own features explain stays.
Tensor with_random_part(const OwnScores& scores, torch::Generator& random) {
  const Tensor own = with_constant(scores.own);
  const Tensor values = scores.scores.select(1, 0);
  const Tensor explained = torch::mv(own, torch::mv(torch::linalg::pinv(own, 1e-9), values));
  const Tensor rest = random_like((values - explained).unsqueeze(1), random).squeeze(1);
  const double unit = std::ldexp(1.0, -scores.score_bits);
  return ((explained + rest) / unit).round() * unit;
}

/// What there is against an attack on patterns; empty: nothing.
std::string obstacle_to_patterns(const OwnScores& scores, const Tensor& truth) {
  constexpr std::size_t kMostColumns = 8;
  if (scores.peer_columns == 0 || scores.peer_columns > kMostColumns) {
    return "it takes from 1 to 8 numeric features of A, and A has " + std::to_string(scores.peer_columns);
  }
  if (truth.defined() && truth.size(1) != nn::torch_size(scores.peer_columns)) {
    return "not all features of A have two values";
  }
  if (scores.scores.size(0) < 4 * (scores.own.size(1) + nn::torch_size(scores.peer_columns) + 1)) {
    return "there are too few scores for so many features";
  }
  return "";
}

}  // namespace

void audit_patterns(const OwnScores& all, const AuditOptions& options, run::AttackResults& results) {
  const torch::NoGradGuard no_grad;
  constexpr const char* kName = "patterns of A's features from scores";
  constexpr std::int64_t kMostRows = 600;
  constexpr ScoreSearch kSearch{.clusters = ScoreClusters::kBoth, .starts = 32};
  const OwnScores scores = first_rows(all, kMostRows);
  const Tensor truth = scores.peer.defined() ? two_valued(scores.peer) : Tensor();
  if (const std::string why = obstacle_to_patterns(scores, truth); !why.empty()) {
    results.untried.push_back({kName, why});
    return;
  }
  const auto number = [&](const Tensor& values) {
    const ToldPatterns told =
        attack_scores(values, scores.own, scores.score_bits, nn::torch_size(scores.peer_columns), kSearch);
    return truth.defined() ? fraction_of(told, truth).told : told.misfit;
  };
  const Spread chance = by_chance(options.draws_of_search, options.seed,
                                  [&](torch::Generator& random) { return number(with_random_part(scores, random)); });
  results.figures.push_back(
      {.attack = kName,
       .of = rows_of(scores) + " at " + std::to_string(scores.score_bits) + " fractional bits",
       .tries = "Rows that are alike in all of A's features, by what B's own features leave of their scores.",
       .measure = truth.defined()
                      ? "the share of rows whose pattern was told"
                      : "what the patterns leave unexplained, in units of the scores: 0.29 is rounding alone",
       .value = number(scores.scores.select(1, 0)),
       .chance = chance.mean,
       .standard_error = chance.deviation,
       .works = truth.defined() ? run::Works::kAbove : run::Works::kBelow,
       .advice = kFewerBits});
}

void audit_model(const OwnScores& scores, const AuditOptions& options, run::AttackResults& results) {
  const torch::NoGradGuard no_grad;
  constexpr const char* kName = "a copy of the model from scores";
  const bool has_all = scores.peer.defined();
  const Tensor features =
      has_all ? torch::cat({scores.own, scores.peer}, 1).to(torch::kFloat64) : scores.own.to(torch::kFloat64);
  const std::int64_t half = scores.scores.size(0) / 2;
  if (features.size(1) == 0 || half < 2 * (features.size(1) + 1)) {
    results.untried.push_back({kName, "it takes features, and scores of four times as many rows"});
    return;
  }
  const Tensor values = scores.scores.select(1, 0).contiguous();
  const bool has_labels = !scores.labels.empty();
  const Tensor labels = has_labels ? nn::to_tensor(scores.labels).to(torch::kFloat64) : Tensor();
  // Fitted to one half of `known`, in an order of its own, and compared with the model on the other half.
  const auto number = [&](const Tensor& known, torch::Generator& random) {
    const Tensor order = torch::randperm(values.size(0), random, torch::dtype(torch::kInt64));
    const Tensor begin = order.index({Slice(0, half)});
    const Tensor rest = order.index({Slice(half, 2 * half)});
    const auto of = [](const Tensor& all, const Tensor& rows) { return all.index_select(0, rows).contiguous(); };
    const double correlation =
        attack_model(of(features, begin), of(known, begin), of(features, rest), of(values, rest)).correlation;
    return std::log10(std::max(1 - correlation * correlation, 1e-12));
  };
  const Spread chance = by_chance(options.draws, options.seed, [&](torch::Generator& random) {
    const Tensor shuffled = torch::randperm(values.size(0), random, torch::dtype(torch::kInt64));
    return number(has_labels ? labels : values.index_select(0, shuffled), random);
  });
  const Spread found =
      by_chance(options.draws, options.seed, [&](torch::Generator& random) { return number(values, random); });
  results.figures.push_back(
      {.attack = kName,
       .of = rows_of(scores),
       .tries = std::string("A linear model of ") + (has_all ? "both parties'" : "B's own") +
                " features is fitted to one half of the scores, and compared with the model on the other half.",
       .measure = std::string("log10 of the share of the model's scores that it leaves unexplained, 0 being all; by "
                              "chance, that of one fitted to ") +
                  (has_labels ? "B's labels" : "shuffled scores"),
       .value = found.mean,
       .chance = chance.mean,
       .standard_error = chance.deviation,
       .works = run::Works::kBelow,
       .advice = "Scores tell more of the model than the labels did: whoever has such features and scores has so much "
                 "of it. " +
                 std::string(kFewerBits)});
}

void audit_membership(const OwnScores& trained, const OwnScores& fresh, run::AttackResults& results) {
  const auto of = static_cast<double>(trained.labels.size());
  const auto others = static_cast<double>(fresh.labels.size());
  const Success told = attack_membership(trained.family, {.scores = trained.scores, .labels = trained.labels},
                                         {.scores = fresh.scores, .labels = fresh.labels});
  results.figures.push_back(
      {.attack = "which rows were trained with",
       .of = std::to_string(trained.labels.size()) + " rows that were, " + std::to_string(fresh.labels.size()) +
             " that were not",
       .tries = "Rows of a smaller loss are held for rows that were trained with, as whoever gets scores and knows the "
                "labels could.",
       .measure = "the AUC",
       .value = told.value,
       .chance = told.chance,
       .standard_error = std::sqrt((of + others + 1) / (12 * of * others)),  // of a sum of ranks
       .works = run::Works::kAbove,
       .advice = "The model knows rows by heart: fewer shared.training.epochs, early stopping or weight decay; and do "
                 "not hand out scores of rows that were trained with."});
}

}  // namespace blindfl::lab::attacks
