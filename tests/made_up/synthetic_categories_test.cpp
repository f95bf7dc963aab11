#include "made_up/synthetic_categories.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "testing/ranking.h"

namespace blindfl::made_up::synthetic_categories_test {
namespace {

using testing::auc;
using testing::deviation;
using testing::mean;

/// The hidden numbers of one party, recomputed from the truth.
std::vector<std::vector<double>> hidden(const SyntheticCategories& data, const SyntheticFields& part, std::size_t begin,
                                        std::size_t end) {
  const std::size_t d = data.direction.size();
  std::vector<std::vector<double>> h(data.joined.rows(), std::vector<double>(d));
  for (std::size_t r = 0; r < h.size(); ++r) {
    for (std::size_t k = 0; k < d; ++k) {
      data.joined.for_each_in_row(r, [&](std::size_t c, double value) {
        if (c >= begin && c < end) h[r][k] += value * data.weights[c * d + k];
      });
      for (std::size_t f = 0; f < part.fields.size(); ++f) {
        const double unit = std::exp2(-part.encoded[f].scale());
        part.encoded[f].for_each_in_row(r, [&](std::size_t category, std::int64_t value) {
          h[r][k] += unit * static_cast<double>(value) * part.tables[f][category * d + k];
        });
      }
    }
  }
  return h;
}

/// What the terms of each score are made of.
struct Terms {
  std::vector<double> a;
  std::vector<double> b;
  std::vector<double> both;
};

Terms terms_of(const SyntheticCategories& data, std::size_t columns_a) {
  const auto h_a = hidden(data, data.a, 0, columns_a);
  const auto h_b = hidden(data, data.b, columns_a, data.joined.cols());
  Terms terms;
  for (std::size_t r = 0; r < h_a.size(); ++r) {
    const auto dot = [](const std::vector<double>& x, const std::vector<double>& y) {
      return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
    };
    terms.a.push_back(dot(data.direction, h_a[r]));
    terms.b.push_back(dot(data.direction, h_b[r]));
    terms.both.push_back(data.interaction * dot(h_a[r], h_b[r]));
  }
  return terms;
}

std::vector<double> sum(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<double> z(x.size());
  std::ranges::transform(x, y, z.begin(), std::plus<>());
  return z;
}

std::vector<SyntheticCategoriesSpec> various(std::size_t rows) {
  const CategoryField sums{.name = "sums", .categories = 40, .most = 5};
  const CategoryField means{.name = "means", .categories = 40, .most = 5, .pooling = Pooling::kMean};
  const CategoryField narrow{.name = "narrow", .categories = 3};
  const CategoryField wide{.name = "wide", .categories = 2000};
  return {
      {.rows = rows},
      {.rows = rows, .dimension = 8, .skew = 0},
      {.rows = rows, .columns_a = 0, .columns_b = 3, .fields_b = {}, .interaction = 0.2},
      {.rows = rows, .columns_a = 1, .columns_b = 0, .fields_a = {}, .fields_b = {narrow}, .dimension = 3},
      {.rows = rows, .fields_a = {sums, wide}, .fields_b = {means, narrow}, .dimension = 4, .interaction = 0.8},
  };
}

TEST(SyntheticCategories, AreTheSameForTheSameSeedOnly) {
  SyntheticCategoriesSpec spec{.rows = 50, .seed = 7};
  const SyntheticCategories one = make_synthetic_categories(spec);
  const SyntheticCategories two = make_synthetic_categories(spec);
  EXPECT_EQ(one.joined.to_dense(), two.joined.to_dense());
  EXPECT_EQ(one.joined.labels(), two.joined.labels());
  EXPECT_EQ(one.scores, two.scores);
  EXPECT_EQ(one.a.encoded[0].to_dense(), two.a.encoded[0].to_dense());
  EXPECT_EQ(one.b.tables, two.b.tables);
  spec.seed = 8;
  const SyntheticCategories other = make_synthetic_categories(spec);
  EXPECT_NE(one.joined.to_dense(), other.joined.to_dense());
  EXPECT_NE(one.a.encoded[0].to_dense(), other.a.encoded[0].to_dense());
  EXPECT_NE(one.b.tables, other.b.tables);
}

TEST(SyntheticCategories, AreTheSameOnEveryMachine) {
  const SyntheticCategories data = make_synthetic_categories({.rows = 12});
  std::vector<std::size_t> categories;
  for (std::size_t r = 0; r < 12; ++r) {
    data.b.encoded[1].for_each_in_row(r, [&](std::size_t category, auto) { categories.push_back(category); });
  }
  EXPECT_EQ(categories, (std::vector<std::size_t>{1, 1, 4, 4, 2, 3, 3, 4, 3, 1, 1, 3}));
  EXPECT_EQ(data.joined.labels(), (std::vector<double>{0, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_NEAR(data.scores[0], -0.765369640227, 1e-9);
}

TEST(SyntheticCategories, GrowByRowsWithoutChangingTheFirst) {
  std::vector<std::uint32_t> first(20);
  std::iota(first.begin(), first.end(), 0U);
  const auto few_of = various(20);
  const auto many_of = various(40);
  for (std::size_t i = 0; i < few_of.size(); ++i) {
    const SyntheticCategories few = make_synthetic_categories(few_of[i]);
    const SyntheticCategories many = make_synthetic_categories(many_of[i]);
    EXPECT_EQ(few.a.tables, many.a.tables);
    EXPECT_EQ(few.joined.to_dense(), many.joined.select_rows(first).to_dense());
    EXPECT_EQ(few.joined.labels(), many.joined.select_rows(first).labels());
    for (std::size_t f = 0; f < few.a.encoded.size(); ++f) {
      EXPECT_EQ(few.a.encoded[f].to_dense(), many.a.encoded[f].select_rows(first).to_dense());
    }
  }
}

TEST(SyntheticCategories, HaveTheFieldsAskedFor) {
  const SyntheticCategoriesSpec spec = various(500).back();
  const SyntheticCategories data = make_synthetic_categories(spec);
  EXPECT_EQ(data.joined.rows(), 500U);
  EXPECT_EQ(data.joined.cols(), 8U);
  EXPECT_EQ(data.weights.size(), 32U);
  ASSERT_EQ(data.a.encoded.size(), 2U);
  ASSERT_EQ(data.b.encoded.size(), 2U);
  for (const SyntheticFields* part : {&data.a, &data.b}) {
    for (std::size_t f = 0; f < 2; ++f) {
      const CategoryField& field = part->fields[f];
      const IntMatrix& x = part->encoded[f];
      EXPECT_EQ(x.kind(), field.most == 1 ? IntMatrix::Kind::kOneHot : IntMatrix::Kind::kCsr);
      EXPECT_EQ(x.rows(), 500U);
      EXPECT_EQ(x.cols(), field.categories);
      EXPECT_EQ(x.scale(), field.scale());
      EXPECT_EQ(part->tables[f].size(), field.categories * 4);
      // The reserved row has no embedding and no rows.
      EXPECT_TRUE(std::all_of(part->tables[f].begin(), part->tables[f].begin() + 4, [](double e) { return e == 0; }));
      for (std::size_t r = 0; r < 500; ++r) x.for_each_in_row(r, [](std::size_t c, auto) { EXPECT_NE(c, 0U); });
    }
  }
  std::vector<std::size_t> counts(6);
  for (std::size_t r = 0; r < 500; ++r) {
    std::int64_t count = 0;
    data.a.encoded[0].for_each_in_row(r, [&](std::size_t, std::int64_t value) { count += value; });
    ++counts.at(static_cast<std::size_t>(count));
  }
  // 83 expected each, with a deviation of 8.
  for (const std::size_t count : counts) EXPECT_NEAR(static_cast<double>(count), 83, 40);
}

TEST(SyntheticCategories, OccurAsOftenAsTheSkewSays) {
  for (const double skew : {0.0, 1.0, 2.0}) {
    const SyntheticCategories data =
        make_synthetic_categories({.rows = 20'000, .fields_a = {{.name = "a", .categories = 5}}, .skew = skew});
    std::vector<double> count(5);
    for (std::size_t r = 0; r < 20'000; ++r) {
      data.a.encoded[0].for_each_in_row(r, [&](std::size_t category, auto) { ++count[category]; });
    }
    for (std::size_t k = 1; k < 5; ++k) {
      EXPECT_NEAR(count[k] / count[1], std::pow(static_cast<double>(k), -skew), 0.06) << "at skew " << skew;
    }
  }
}

TEST(SyntheticCategories, ScoreByTheModelTheyName) {
  for (const SyntheticCategoriesSpec& spec : various(100)) {
    const SyntheticCategories data = make_synthetic_categories(spec);
    const Terms terms = terms_of(data, spec.columns_a);
    const std::vector<double> scores = sum(sum(terms.a, terms.b), terms.both);
    for (std::size_t r = 0; r < 100; ++r) EXPECT_NEAR(data.scores[r], scores[r], 1e-9);
  }
}

TEST(SyntheticCategories, GiveBothPartiesTheSameShareOfTheScore) {
  for (const SyntheticCategoriesSpec& spec : various(20'000)) {
    const SyntheticCategories data = make_synthetic_categories(spec);
    const Terms terms = terms_of(data, spec.columns_a);
    const double alone = 3 * std::sqrt((1 - spec.interaction) / 2);
    EXPECT_NEAR(deviation(terms.a) / alone, 1, 0.05);
    EXPECT_NEAR(deviation(terms.b) / alone, 1, 0.05);
    EXPECT_NEAR(deviation(terms.both) / (3 * std::sqrt(spec.interaction)), 1, 0.1);
    EXPECT_NEAR(deviation(data.scores), 3, 0.2);
    EXPECT_NEAR(mean(data.scores), 0, 0.1);
  }
}

TEST(SyntheticCategories, NeedBothPartiesAndMoreThanALinearModel) {
  const SyntheticCategoriesSpec spec{.rows = 5000};
  const SyntheticCategories data = make_synthetic_categories(spec);
  const Terms terms = terms_of(data, spec.columns_a);
  const double best = auc(data.scores, data.joined.labels());
  // Whatever one party's part is, the interaction is 0 on average: no sum of terms of one party each explains any of
  // it.
  const double linear = auc(sum(terms.a, terms.b), data.joined.labels());
  EXPECT_GT(best, 0.86);
  EXPECT_GT(best, linear + 0.07);
  EXPECT_GT(linear, auc(terms.a, data.joined.labels()) + 0.04);
  EXPECT_GT(linear, auc(terms.b, data.joined.labels()) + 0.04);
}

TEST(SyntheticCategories, DrawLabelsFromTheLogisticLaw) {
  const SyntheticCategories data = make_synthetic_categories({.rows = 20'000});
  double expected = 0;
  double together = 0;
  double squares = 0;
  for (std::size_t r = 0; r < data.scores.size(); ++r) {
    const double p = 1 / (1 + std::exp(-data.scores[r]));
    expected += p;
    squares += p * p;
    together += p * data.joined.labels()[r];
  }
  EXPECT_NEAR(mean(data.joined.labels()) * 20'000 / expected, 1, 0.03);
  // E[label, weighted by p] = E[p^2] only if the labels follow the probabilities row by row.
  EXPECT_NEAR(together / squares, 1, 0.03);
}

TEST(SyntheticCategories, AreHarderToTellApartWithNoise) {
  const SyntheticCategories clear = make_synthetic_categories({.rows = 4000});
  const SyntheticCategories noisy = make_synthetic_categories({.rows = 4000, .noise = 5});
  EXPECT_EQ(clear.scores, noisy.scores);
  EXPECT_GT(auc(clear.scores, clear.joined.labels()), auc(noisy.scores, noisy.joined.labels()) + 0.1);
}

TEST(SyntheticCategories, WorkWithoutRows) {
  const SyntheticCategories data = make_synthetic_categories({.rows = 0});
  EXPECT_EQ(data.joined.rows(), 0U);
  EXPECT_EQ(data.a.encoded[0].rows(), 0U);
  EXPECT_FALSE(data.a.tables[0].empty());
}

TEST(SyntheticCategories, RefuseSpecsThatMakeNoSense) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<std::string, SyntheticCategoriesSpec>> cases = {
      {"nothing at A", {.columns_a = 0, .fields_a = {}}},
      {"nothing at B", {.columns_b = 0, .fields_b = {}}},
      {"too many rows", {.rows = std::size_t{1} << 40}},
      {"too many columns", {.columns_a = ~std::size_t{0}, .columns_b = 2}},
      {"a field of two categories", {.fields_a = {{.name = "x", .categories = 2}}}},
      {"a field of too many", {.fields_b = {{.name = "x", .categories = std::size_t{1} << 32}}}},
      {"none in a row", {.fields_b = {{.name = "x", .categories = 5, .most = 0}}}},
      {"too many in a row", {.fields_b = {{.name = "x", .categories = 5, .most = 70'000}}}},
      {"no dimension", {.dimension = 0}},
      {"a huge dimension", {.dimension = 100'000}},
      {"negative skew", {.skew = -1}},
      {"skew not a number", {.skew = nan}},
      {"more interaction than score", {.interaction = 1.1}},
      {"interaction not a number", {.interaction = nan}},
      {"negative noise", {.noise = -1}},
      {"noise not a number", {.noise = nan}},
  };
  for (const auto& [what, spec] : cases) EXPECT_THROW((void)make_synthetic_categories(spec), InvalidArgument) << what;
}

}  // namespace
}  // namespace blindfl::made_up::synthetic_categories_test
