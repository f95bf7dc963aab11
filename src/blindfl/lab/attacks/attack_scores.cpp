#include "blindfl/lab/attacks/attack_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "blindfl/base/error.h"
#include "blindfl/lab/attacks/binary_vectors.h"

namespace blindfl::lab::attacks {

namespace {

using torch::Tensor;
using torch::indexing::Slice;

constexpr std::int64_t kMostColumns = 12;  // 4096 patterns
constexpr double kRounding = 0.295;        // units: rounding leaves 1 / sqrt(12), and this is a little more

/// Scores in units of their rounding, and what B explains of them by itself.
struct Problem {
  Tensor scores;  ///< rows
  Tensor own;     ///< an orthonormal basis of a constant and B's features, rows x dimension
  Tensor rest;    ///< the scores without their projection on it
  std::int64_t columns_a = 0;

  [[nodiscard]] std::int64_t patterns() const { return std::int64_t{1} << columns_a; }
};

Tensor without_own(const Problem& problem, const Tensor& values) {
  return values - torch::mv(problem.own, torch::mv(problem.own.t(), values));
}

double root_of_mean_squares(const Tensor& values) {
  return std::sqrt(values.pow(2).mean().item<double>());
}

Problem problem_of(const Tensor& scores, const Tensor& features_b, int score_bits, std::int64_t columns_a) {
  require<InvalidArgument>(scores.dim() == 1 && features_b.dim() == 2 && scores.size(0) == features_b.size(0),
                           "attack: scores and B's features have different numbers of rows");
  require<InvalidArgument>(columns_a >= 1 && columns_a <= kMostColumns, "attack: A has from 1 to ", kMostColumns,
                           " columns");
  require<InvalidArgument>(scores.size(0) > features_b.size(1) + columns_a + 1,
                           "attack: there are fewer scores than unknown weights");
  Problem problem;
  problem.columns_a = columns_a;
  problem.scores = scores.to(torch::kFloat64) * std::ldexp(1.0, score_bits);
  const Tensor constant = torch::ones({scores.size(0), 1}, torch::kFloat64);
  problem.own = orthonormal_basis(torch::cat({constant, features_b.to(torch::kFloat64)}, 1), 0);
  problem.rest = without_own(problem, problem.scores);
  return problem;
}

/// Means of each cluster's rows, in every row: of columns, rows x columns.
Tensor cluster_means(const Tensor& columns, const Tensor& cluster, std::int64_t clusters) {
  const Tensor sums = torch::zeros({clusters, columns.size(1)}, torch::kFloat64).index_add_(0, cluster, columns);
  const Tensor counts = torch::bincount(cluster, {}, clusters).clamp_min(1).unsqueeze(1);
  return (sums / counts).index_select(0, cluster);
}

/// Clusters of sorted numbers that end at the widest gaps, at most `most`, and no gap narrower than `least`.
Tensor clusters_by_gaps(const Tensor& values, std::int64_t most, double least) {
  const auto [sorted, order] = values.sort();
  const Tensor gaps = sorted.index({Slice(1)}) - sorted.index({Slice(0, -1)});
  const std::int64_t cuts = std::min(most - 1, gaps.size(0));
  const double narrowest = std::get<0>(gaps.topk(cuts))[cuts - 1].item<double>();
  const Tensor cluster = torch::zeros({values.size(0)}, torch::kInt64);
  const Tensor number = (gaps >= std::max(narrowest, least)).to(torch::kInt64).cumsum(0);
  cluster.index_put_({order.index({Slice(1)})}, number);
  return cluster;
}

/// B's weights are fitted within clusters, and clusters looked for in what they leave, until nothing changes.
ToldPatterns told_by_gaps(const Problem& problem) {
  constexpr int kRounds = 12;
  constexpr double kLeastGap = 1.5;  // in units of the scores: values of one pattern are at most one unit apart
  const std::int64_t patterns = problem.patterns();
  const Tensor scores = problem.scores.unsqueeze(1);
  ToldPatterns told{.cluster = torch::zeros({scores.size(0)}, torch::kInt64)};
  for (int i = 0; i < kRounds; ++i) {
    const Tensor within = problem.own - cluster_means(problem.own, told.cluster, patterns);
    const Tensor target = scores - cluster_means(scores, told.cluster, patterns);
    const Tensor weights = torch::mm(torch::linalg::pinv(within, 1e-9), target);
    told.misfit = root_of_mean_squares(target - torch::mm(within, weights));
    const Tensor rest = (scores - torch::mm(problem.own, weights)).squeeze(1);
    const Tensor next = clusters_by_gaps(rest, patterns, kLeastGap);
    if (torch::equal(next, told.cluster)) break;
    told.cluster = next;
  }
  return told;
}

/// All patterns of zeros and ones, patterns x columns.
Tensor all_patterns(std::int64_t columns) {
  const Tensor numbers = torch::arange(std::int64_t{1} << columns, torch::kInt64).unsqueeze(1);
  const Tensor factors = torch::pow(2, torch::arange(columns, torch::kInt64)).unsqueeze(0);
  return torch::floor_divide(numbers, factors).remainder(2).to(torch::kFloat64);
}

/// Which of the levels is nearest to each value.
Tensor nearest(const Tensor& values, const Tensor& levels) {
  const auto [sorted, order] = levels.sort();
  const Tensor middles = ((sorted.index({Slice(1)}) + sorted.index({Slice(0, -1)})) / 2).contiguous();
  return order.index_select(0, torch::searchsorted(middles, values.contiguous()));
}

struct SumsFit {
  ToldPatterns told{.cluster = {}, .misfit = std::numeric_limits<double>::infinity()};
  Tensor weights;  ///< of A, in units of the scores; positive, as the names of 0 and 1 are free
};

/// From weights of A: rows get the pattern whose sum is nearest, then weights are fitted, until nothing changes.
SumsFit fit_sums(const Problem& problem, const Tensor& patterns, const Tensor& begin) {
  constexpr int kRounds = 60;
  SumsFit fit{.weights = begin};
  Tensor levels = torch::mv(patterns, begin);
  Tensor beside_own = problem.rest + levels.mean();
  for (int i = 0; i < kRounds; ++i) {
    const Tensor cluster = nearest(beside_own, levels);
    if (i > 0 && torch::equal(cluster, fit.told.cluster)) break;
    const Tensor features = patterns.index_select(0, cluster);
    const Tensor explained = torch::mm(problem.own, torch::mm(problem.own.t(), features));
    const Tensor rest = features - explained;
    const Tensor inverse = torch::linalg::pinv(torch::mm(rest.t(), rest), 1e-9, true);
    fit.weights = torch::mv(inverse, torch::mv(rest.t(), problem.rest));
    levels = torch::mv(patterns, fit.weights);
    beside_own = problem.rest + torch::mv(explained, fit.weights);
    fit.told = {.cluster = cluster, .misfit = root_of_mean_squares(problem.rest - torch::mv(rest, fit.weights))};
  }
  fit.weights = fit.weights.abs();
  return fit;
}

/// Weights to begin with: at first of random sizes together, later the best so far with one or two drawn again.
Tensor weights_to_begin_with(const Problem& problem, const SumsFit& best, std::int64_t start,
                             torch::Generator& random) {
  constexpr std::int64_t kFresh = 16;
  const double deviation = root_of_mean_squares(problem.rest);
  const auto uniform = [&] { return torch::rand({1}, random, torch::dtype(torch::kFloat64)).item<double>(); };
  if (start < kFresh) {
    const Tensor drawn = torch::randn({problem.columns_a}, random, torch::dtype(torch::kFloat64)).abs();
    // A sum of independent zeros and ones has at most a half of its weights' norm as standard deviation.
    return drawn * ((1.7 + 0.8 * uniform()) * deviation / drawn.norm().item<double>());
  }
  Tensor weights = best.weights.clone();
  for (std::int64_t i = 0; i <= start % 2; ++i) {
    const auto which = static_cast<std::int64_t>(uniform() * static_cast<double>(problem.columns_a));
    weights[std::min(which, problem.columns_a - 1)] = 3 * deviation * std::exp(-4 * uniform());
  }
  return weights;
}

ToldPatterns told_by_sums(const Problem& problem, const ScoreSearch& search) {
  const Tensor patterns = all_patterns(problem.columns_a);
  torch::Generator random = at::detail::createCPUGenerator(search.seed);
  SumsFit best;
  for (std::int64_t start = 0; start < search.starts && best.told.misfit > kRounding; ++start) {
    SumsFit fit = fit_sums(problem, patterns, weights_to_begin_with(problem, best, start, random));
    if (fit.told.misfit < best.told.misfit) best = std::move(fit);
  }
  return best.told;
}

/// A number for each row's pattern.
Tensor pattern_numbers(const Tensor& features_a) {
  const Tensor factors = torch::pow(2, torch::arange(features_a.size(1), torch::kInt64));
  return (features_a.to(torch::kInt64) * factors).sum(1);
}

}  // namespace

ToldPatterns attack_scores(const Tensor& scores, const Tensor& features_b, int score_bits, std::int64_t columns_a,
                           const ScoreSearch& search) {
  const torch::NoGradGuard no_grad;
  require<InvalidArgument>(search.starts >= 1, "attack: a search needs a start");
  const Problem problem = problem_of(scores, features_b, score_bits, columns_a);
  if (search.clusters == ScoreClusters::kSums) return told_by_sums(problem, search);
  const ToldPatterns by_gaps = told_by_gaps(problem);
  if (search.clusters == ScoreClusters::kGaps || by_gaps.misfit <= kRounding) return by_gaps;
  const ToldPatterns by_sums = told_by_sums(problem, search);
  return by_sums.misfit < by_gaps.misfit ? by_sums : by_gaps;
}

PatternFraction fraction_of(const ToldPatterns& told, const Tensor& features_a) {
  require<InvalidArgument>(told.cluster.size(0) == features_a.size(0) && features_a.size(0) > 0,
                           "attack: clusters and A's features have different numbers of rows");
  const auto [patterns, pattern, rows_of] = torch::_unique2(pattern_numbers(features_a), true, true, true);
  const std::int64_t count = patterns.size(0);
  const std::int64_t clusters = told.cluster.max().item<std::int64_t>() + 1;
  Tensor common = torch::bincount(told.cluster * count + pattern, {}, clusters * count).view({clusters, count});
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < std::min(clusters, count); ++i) {
    const auto best = common.argmax().item<std::int64_t>();
    right += common[best / count][best % count].item<std::int64_t>();
    common[best / count].zero_();
    common.select(1, best % count).zero_();
  }
  const auto rows = static_cast<double>(features_a.size(0));
  return {.told = static_cast<double>(right) / rows, .guess = rows_of.max().item<double>() / rows};
}

}  // namespace blindfl::lab::attacks
