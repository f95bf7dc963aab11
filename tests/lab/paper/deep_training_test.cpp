// Wide & Deep and DLRM between two parties beside plain ones that begin with the same weights.

#include "blindfl/lab/paper/deep_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/base/random.h"

namespace blindfl::lab::paper::deep_training_test {
namespace {

using ::testing::SizeIs;

constexpr std::size_t kRows = 96;
constexpr std::size_t kColumns = 4;

IntMatrix encoded(const CategoryField& field, SeededRandom& random) {
  std::vector<IntMatrix::Column> all;
  for (std::size_t r = 0; r < kRows; ++r) all.push_back(static_cast<IntMatrix::Column>(random.below(field.categories)));
  return encode_categories(field, all);
}

CategoryData made_up_data(std::size_t columns_a = 2) {
  SeededRandom random(5);
  std::vector<double> values;
  std::vector<double> labels;
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t c = 0; c < kColumns; ++c) values.push_back(static_cast<double>(random.below(257)) / 128 - 1);
    const std::size_t first = r * kColumns;
    labels.push_back(values[first] + values[first + 2] > 0 ? 1 : 0);
  }
  CategoryData data{.columns_a = columns_a,
                    .fields_a = {{.name = "a", .categories = 5}},
                    .fields_b = {{.name = "b", .categories = 7}, {.name = "c", .categories = 3}},
                    .train = {},
                    .test = {}};
  data.train.numeric = data::Table::dense(kRows, kColumns, std::move(values), std::move(labels));
  data.train.fields_a = {encoded(data.fields_a[0], random)};
  for (const CategoryField& field : data.fields_b) data.train.fields_b.push_back(encoded(field, random));
  data.test = data.train;
  return data;
}

/// B's columns as if there were no others.
CategoryData of_b_alone(const CategoryData& data) {
  CategoryData alone{.columns_a = 0, .fields_a = {}, .fields_b = data.fields_b, .train = {}, .test = {}};
  alone.train.numeric = rows_of_b(data, data.train).numeric;
  alone.train.fields_b = data.train.fields_b;
  alone.test = alone.train;
  return alone;
}

train::TrainOptions options() {
  return {.epochs = 2, .batch = 32, .sgd = {.learning_rate = 0.3, .momentum = 0.9}};
}

/// The largest difference of losses.
double distance(const DeepTraining& a, const DeepTraining& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.losses.size(); ++i) {
    largest = std::max(largest, std::abs(a.losses.at(i) - b.losses.at(i)));
  }
  return largest;
}

class DeepTrainings : public ::testing::TestWithParam<DeepModel> {};

TEST_P(DeepTrainings, HaveTheLossesOfTheJoinedModelFromTheSameStart) {
  const CategoryData data = made_up_data();
  const FederatedDeepTraining federated = train_deep(GetParam(), data, options());
  const DeepTraining joined = train_deep_joined(GetParam(), data, federated.start, options());
  const DeepTraining alone = train_deep_of_b(GetParam(), data, federated.start, options());
  ASSERT_THAT(federated.losses, SizeIs(6));
  ASSERT_THAT(joined.losses, SizeIs(6));
  EXPECT_LT(distance(federated, joined), 1e-3);
  EXPECT_LT((federated.scores - joined.scores).abs().max().item<double>(), 1e-2);
  EXPECT_GT(distance(federated, alone), 3e-3) << "what A's columns say is seen";
}

TEST_P(DeepTrainings, OfBAloneBeginWithItsPart) {
  const CategoryData data = made_up_data();
  const DeepStart start = train_deep(GetParam(), data, options()).start;
  const DeepTraining alone = train_deep_of_b(GetParam(), data, start, options());
  const DeepStart of_b{.weight = start.weight.slice(0, 2),
                       .tables = {start.tables.at(1), start.tables.at(2)},
                       .embedded_weight = start.embedded_weight.slice(0, 8),
                       .top = start.top};
  ASSERT_THAT(alone.losses, SizeIs(6));
  EXPECT_EQ(alone.losses, train_deep_joined(GetParam(), of_b_alone(data), of_b, options()).losses);
}

INSTANTIATE_TEST_SUITE_P(Models, DeepTrainings, ::testing::Values(DeepModel::kWideDeep, DeepModel::kDlrm),
                         [](const auto& info) {
                           return std::string(info.param == DeepModel::kDlrm ? "Dlrm" : "WideDeep");
                         });

TEST(DeepTraining, OfAnotherShapeIsRefused) {
  const train::TrainOptions none{.epochs = 0, .batch = 32, .sgd = {.learning_rate = 0.1}};
  // All numbers are A's: B's DLRM has no perceptron for them.
  const CategoryData data = made_up_data(kColumns);
  const FederatedDeepTraining federated = train_deep(DeepModel::kDlrm, data, none);
  EXPECT_THROW((void)train_deep_of_b(DeepModel::kDlrm, data, federated.start, none), InvalidArgument);
  EXPECT_THROW((void)train_deep_joined(DeepModel::kWideDeep, data, federated.start, none), InvalidArgument);
}

}  // namespace
}  // namespace blindfl::lab::paper::deep_training_test
