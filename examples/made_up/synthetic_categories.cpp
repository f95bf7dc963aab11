#include "made_up/synthetic_categories.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/base/random.h"

namespace blindfl::made_up {

namespace {

// Separate streams: more rows leave the truth as it was, and another field leaves the others.
constexpr std::uint64_t kTruthPurpose = 0x5E72'0000'0000'0000;
constexpr std::uint64_t kNumericPurpose = 0x5E73'0000'0000'0000;
constexpr std::uint64_t kCategoryPurpose = 0x5E74'0000'0000'0000;
constexpr std::uint64_t kLabelPurpose = 0x5E75'0000'0000'0000;
constexpr std::uint64_t kPurposeOfB = 0x0000'0001'0000'0000;

// As that of other made-up data with binary labels.
constexpr double kScoreDeviation = 3.0;
constexpr std::size_t kMaxDimension = 4096;

void check_fields(const std::vector<CategoryField>& fields) {
  for (const CategoryField& field : fields) {
    require<InvalidArgument>(field.categories >= 3 && field.categories < IntMatrix::kNoColumn,
                             "synthetic data: field '", field.name,
                             "' needs 3 categories or more, the reserved one included");
    require<InvalidArgument>(field.most > 0 && field.most <= 65536, "synthetic data: field '", field.name,
                             "' has between 1 and 65536 categories in a row");
  }
}

void check(const SyntheticCategoriesSpec& spec) {
  constexpr std::size_t kMaxCount = std::numeric_limits<std::uint32_t>::max() - 1;
  require<InvalidArgument>(spec.rows <= kMaxCount, "synthetic data: ", spec.rows, " rows are too many");
  require<InvalidArgument>(spec.columns_a <= kMaxCount && spec.columns_b <= kMaxCount - spec.columns_a,
                           "synthetic data: too many columns");
  require<InvalidArgument>(spec.columns_a + spec.fields_a.size() > 0 && spec.columns_b + spec.fields_b.size() > 0,
                           "synthetic data: a party has neither columns nor fields");
  check_fields(spec.fields_a);
  check_fields(spec.fields_b);
  require<InvalidArgument>(spec.dimension > 0 && spec.dimension <= kMaxDimension, "synthetic data: embeddings of ",
                           spec.dimension, " numbers are too short or too long");
  require<InvalidArgument>(spec.skew >= 0 && spec.skew <= 10, "synthetic data: the skew is between 0 and 10");
  require<InvalidArgument>(spec.interaction >= 0 && spec.interaction <= 1,
                           "synthetic data: the interaction is a share, between 0 and 1");
  require<InvalidArgument>(std::isfinite(spec.noise) && spec.noise >= 0,
                           "synthetic data: the noise must be finite and not negative");
}

/// How often each category of a field occurs. The first is the reserved one.
std::vector<double> frequencies(const CategoryField& field, double skew) {
  std::vector<double> frequency(field.categories);
  double total = 0;
  for (std::size_t k = 1; k < field.categories; ++k) total += frequency[k] = std::pow(static_cast<double>(k), -skew);
  for (double& f : frequency) f /= total;
  return frequency;
}

/// The variance of what a row looks up, if that of a single embedding is 1.
double pooled_variance(const CategoryField& field) {
  if (field.most == 1) return 1;
  double variance = 0;
  for (std::size_t count = 1; count <= field.most; ++count) {
    const auto n = static_cast<double>(count);
    variance += (field.pooling == Pooling::kSum ? n : 1 / n) / static_cast<double>(field.most + 1);
  }
  return variance;
}

/// What one party contributes, and how its hidden numbers vary together: dimension x dimension.
struct Part {
  std::vector<double> weights;
  std::vector<std::vector<double>> tables;
  std::vector<double> covariance;
};

void add_covariance(std::span<const double> h, double factor, std::vector<double>& covariance) {
  for (std::size_t i = 0; i < h.size(); ++i) {
    for (std::size_t j = 0; j < h.size(); ++j) covariance[i * h.size() + j] += factor * h[i] * h[j];
  }
}

/// A table whose rows have mean 0 and, pooled, variance 1, as often as they occur. Its covariance is added.
std::vector<double> draw_table(const CategoryField& field, const SyntheticCategoriesSpec& spec, SeededRandom& random,
                               std::vector<double>& covariance) {
  const std::size_t d = spec.dimension;
  const std::vector<double> frequency = frequencies(field, spec.skew);
  std::vector<double> table(field.categories * d);
  std::vector<double> mean(d);
  for (std::size_t i = d; i < table.size(); ++i) {
    table[i] = random.normal();
    mean[i % d] += frequency[i / d] * table[i];
  }
  std::vector<double> variance(d);
  for (std::size_t i = d; i < table.size(); ++i) {
    table[i] -= mean[i % d];
    variance[i % d] += frequency[i / d] * table[i] * table[i];
  }
  const double pooled = pooled_variance(field);
  for (std::size_t i = d; i < table.size(); ++i) table[i] /= std::sqrt(variance[i % d] * pooled);
  for (std::size_t k = 1; k < field.categories; ++k) {
    add_covariance(std::span(table).subspan(k * d, d), frequency[k] * pooled, covariance);
  }
  return table;
}

/// Draws a party's truth, scaled so that direction . h has variance 1 if `direction` has length 1.
Part draw_part(const SyntheticCategoriesSpec& spec, std::size_t columns, const std::vector<CategoryField>& fields,
               std::span<const double> direction, SeededRandom& random) {
  const std::size_t d = spec.dimension;
  Part part{.weights = std::vector<double>(columns * d), .tables = {}, .covariance = std::vector<double>(d * d)};
  for (double& w : part.weights) w = random.normal() / std::sqrt(static_cast<double>(columns));
  for (std::size_t c = 0; c < columns; ++c) {
    add_covariance(std::span(part.weights).subspan(c * d, d), 1, part.covariance);
  }
  for (const CategoryField& field : fields) part.tables.push_back(draw_table(field, spec, random, part.covariance));

  double variance = 0;
  for (std::size_t i = 0; i < d * d; ++i) variance += direction[i / d] * part.covariance[i] * direction[i % d];
  for (double& w : part.weights) w /= std::sqrt(variance);
  for (auto& table : part.tables) {
    for (double& e : table) e /= std::sqrt(variance);
  }
  for (double& c : part.covariance) c /= variance;
  return part;
}

std::vector<double> draw_unit_vector(std::size_t dimension, SeededRandom& random) {
  std::vector<double> v(dimension);
  double squares = 0;
  for (double& x : v) {
    x = random.normal();
    squares += x * x;
  }
  for (double& x : v) x /= std::sqrt(squares);
  return v;
}

IntMatrix draw_categories(const CategoryField& field, const SyntheticCategoriesSpec& spec, std::uint64_t purpose) {
  SeededRandom random(spec.seed, purpose);
  std::vector<double> below = frequencies(field, spec.skew);
  for (std::size_t k = 1; k < below.size(); ++k) below[k] += below[k - 1];
  std::vector<std::size_t> row_starts{0};
  std::vector<IntMatrix::Column> all;
  for (std::size_t r = 0; r < spec.rows; ++r) {
    const std::size_t count = field.most == 1 ? 1 : random.below(field.most + 1);
    for (std::size_t i = 0; i < count; ++i) {
      const auto at = std::upper_bound(below.begin() + 1, below.end() - 1, random.uniform());
      all.push_back(static_cast<IntMatrix::Column>(at - below.begin()));
    }
    row_starts.push_back(all.size());
  }
  return encode_categories(field, row_starts, all);
}

data::Table draw_numeric(const SyntheticCategoriesSpec& spec) {
  SeededRandom random(spec.seed, kNumericPurpose);
  const std::size_t cols = spec.columns_a + spec.columns_b;
  std::vector<double> values(spec.rows * cols);
  for (double& v : values) v = random.normal();
  return data::Table::dense(spec.rows, cols, std::move(values));
}

/// Adds `factor` times row `row` of a matrix of hidden numbers to `h`.
void add_row(std::span<const double> matrix, std::size_t row, double factor, std::span<double> h) {
  for (std::size_t k = 0; k < h.size(); ++k) h[k] += factor * matrix[row * h.size() + k];
}

void add_embeddings(const SyntheticFields& part, std::size_t row, std::span<double> h) {
  for (std::size_t f = 0; f < part.encoded.size(); ++f) {
    const IntMatrix& x = part.encoded[f];
    x.for_each_in_row(row, [&](std::size_t category, std::int64_t value) {
      add_row(part.tables[f], category, std::ldexp(static_cast<double>(value), -x.scale()), h);
    });
  }
}

std::vector<double> true_scores(const SyntheticCategories& data, std::size_t columns_a) {
  const std::size_t d = data.direction.size();
  std::vector<double> scores(data.joined.rows());
  for (std::size_t r = 0; r < scores.size(); ++r) {
    std::vector<double> h_a(d);
    std::vector<double> h_b(d);
    data.joined.for_each_in_row(
        r, [&](std::size_t c, double value) { add_row(data.weights, c, value, c < columns_a ? h_a : h_b); });
    add_embeddings(data.a, r, h_a);
    add_embeddings(data.b, r, h_b);
    for (std::size_t k = 0; k < d; ++k) {
      scores[r] += data.direction[k] * (h_a[k] + h_b[k]) + data.interaction * h_a[k] * h_b[k];
    }
  }
  return scores;
}

std::vector<double> draw_labels(const SyntheticCategoriesSpec& spec, const std::vector<double>& scores) {
  SeededRandom random(spec.seed, kLabelPurpose);
  std::vector<double> labels;
  labels.reserve(scores.size());
  for (const double score : scores) {
    const double noisy = score + spec.noise * random.normal();
    labels.push_back(random.uniform() < 1 / (1 + std::exp(-noisy)) ? 1 : 0);
  }
  return labels;
}

}  // namespace

SyntheticCategories make_synthetic_categories(const SyntheticCategoriesSpec& spec) {
  check(spec);
  SeededRandom truth(spec.seed, kTruthPurpose);
  SyntheticCategories data;
  data.direction = draw_unit_vector(spec.dimension, truth);
  Part a = draw_part(spec, spec.columns_a, spec.fields_a, data.direction, truth);
  Part b = draw_part(spec, spec.columns_b, spec.fields_b, data.direction, truth);

  // h_A and h_B are independent and centred, so that the variance of h_A . h_B is the trace of the covariances'
  // product.
  double trace = 0;
  for (std::size_t i = 0; i < a.covariance.size(); ++i) trace += a.covariance[i] * b.covariance[i];
  data.interaction = kScoreDeviation * std::sqrt(spec.interaction / trace);
  for (double& u : data.direction) u *= kScoreDeviation * std::sqrt((1 - spec.interaction) / 2);
  data.weights = std::move(a.weights);
  data.weights.insert(data.weights.end(), b.weights.begin(), b.weights.end());

  data.a = {.fields = spec.fields_a, .encoded = {}, .tables = std::move(a.tables)};
  data.b = {.fields = spec.fields_b, .encoded = {}, .tables = std::move(b.tables)};
  std::uint64_t purpose = kCategoryPurpose;
  for (const CategoryField& f : spec.fields_a) data.a.encoded.push_back(draw_categories(f, spec, purpose++));
  purpose = kCategoryPurpose + kPurposeOfB;
  for (const CategoryField& f : spec.fields_b) data.b.encoded.push_back(draw_categories(f, spec, purpose++));

  data.joined = draw_numeric(spec);
  data.scores = true_scores(data, spec.columns_a);
  data.joined = data.joined.with_labels(draw_labels(spec, data.scores));
  return data;
}

}  // namespace blindfl::made_up
