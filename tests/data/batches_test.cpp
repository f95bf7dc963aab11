#include "blindfl/data/batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "blindfl/base/error.h"
#include "made_up/tables.h"
#include "made_up/vertical_split.h"

namespace blindfl::data::batches_test {
namespace {

using made_up::vertical_split;
using made_up::VerticalSplit;

using Rows = std::vector<std::uint32_t>;

Rows flatten(const std::vector<Rows>& batches) {
  Rows all;
  for (const Rows& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

Rows numbers(std::uint32_t count) {
  Rows rows(count);
  std::iota(rows.begin(), rows.end(), 0U);
  return rows;
}

TEST(BatchOrder, IsTheSameAtBothParties) {
  const BatchOrder at_a(1000, 64, 42);
  const BatchOrder at_b(1000, 64, 42);
  for (std::size_t epoch = 0; epoch < 3; ++epoch) EXPECT_EQ(at_a.batches(epoch), at_b.batches(epoch));
}

TEST(BatchOrder, DoesNotChangeFromReleaseToRelease) {
  // Parties with different versions would silently train on mismatched rows.
  EXPECT_EQ(flatten(BatchOrder(8, 8, 1).batches(0)), (Rows{7, 4, 1, 0, 5, 2, 6, 3}));
}

TEST(BatchOrder, VisitsEveryRowOnceAnEpoch) {
  const BatchOrder order(1000, 64, 42);
  const auto batches = order.batches(5);
  EXPECT_EQ(batches.size(), order.batches_per_epoch());
  ASSERT_EQ(batches.size(), 16U);
  for (std::size_t i = 0; i < 15; ++i) EXPECT_EQ(batches[i].size(), 64U);
  EXPECT_EQ(batches.back().size(), 40U);
  Rows all = flatten(batches);
  EXPECT_NE(all, numbers(1000));
  std::ranges::sort(all);
  EXPECT_EQ(all, numbers(1000));
}

TEST(BatchOrder, ChangesWithEpochAndSeed) {
  const BatchOrder order(100, 10, 1);
  EXPECT_NE(order.batches(0), order.batches(1));
  EXPECT_NE(order.batches(0), BatchOrder(100, 10, 2).batches(0));
}

TEST(BatchOrder, PutsEveryRowEverywhereEquallyOften) {
  std::vector<double> first(6);
  for (std::size_t epoch = 0; epoch < 6000; ++epoch) ++first[BatchOrder(6, 6, 3).batches(epoch)[0][0]];
  // 1000 expected, with a deviation of about 29.
  for (const double count : first) EXPECT_NEAR(count, 1000, 150);
}

TEST(BatchOrder, KeepsTheRowsInPlaceForEvaluation) {
  const BatchOrder order = BatchOrder::sequential(7, 3);
  const std::vector<Rows> expected = {{0, 1, 2}, {3, 4, 5}, {6}};
  EXPECT_EQ(order.batches(0), expected);
  EXPECT_EQ(order.batches(9), expected);
}

TEST(BatchOrder, HandlesTheEdges) {
  EXPECT_TRUE(BatchOrder(0, 4, 1).batches(0).empty());
  EXPECT_EQ(BatchOrder(0, 4, 1).batches_per_epoch(), 0U);
  EXPECT_EQ(BatchOrder(3, 100, 1).batches(0).size(), 1U);
  EXPECT_EQ(BatchOrder(4, 2, 1).batches(0).size(), 2U);
  EXPECT_THROW(BatchOrder(4, 0, 1), InvalidArgument);
  EXPECT_THROW((void)BatchOrder::sequential(4, 0), InvalidArgument);
  EXPECT_THROW(BatchOrder(std::size_t{1} << 32, 4, 1), InvalidArgument);
}

Dataset dataset(const Table& table) {
  return make_dataset(table, FixedPoint({.scale = 1, .largest = 100}));
}

Table table() {
  return Table::csr(3, 2, {0, 1, 2, 4}, {0, 1, 0, 1}, {1, 2, 3, 4.5}, {10, 20, 30});
}

TEST(Dataset, EncodesTheFeaturesAndKeepsTheLabels) {
  const Dataset d = dataset(table());
  EXPECT_EQ(d.features.to_dense(), (std::vector<std::int64_t>{2, 0, 0, 4, 6, 9}));
  EXPECT_EQ(d.features.scale(), 1);
  EXPECT_EQ(d.labels, (std::vector<double>{10, 20, 30}));
  EXPECT_THROW((void)make_dataset(table(), FixedPoint({.scale = 1, .largest = 2})), DataError);
}

TEST(Batch, PadsTheFeaturesAndNotTheLabels) {
  for (const Table& source : {table(), made_up::as_dense(table())}) {
    const Batch batch = make_batch(dataset(source), Rows{2, 0}, 4);
    EXPECT_EQ(batch.rows, 2U);
    EXPECT_EQ(batch.features.rows(), 4U);
    EXPECT_EQ(batch.features.to_dense(), (std::vector<std::int64_t>{6, 9, 2, 0, 0, 0, 0, 0}));
    EXPECT_EQ(batch.labels, (std::vector<double>{30, 10}));
  }
}

TEST(Batch, HasNoLabelsAtA) {
  const VerticalSplit split = vertical_split(table(), 1);
  const Batch at_a = make_batch(dataset(split.a), Rows{1, 2}, 2);
  EXPECT_TRUE(at_a.labels.empty());
  EXPECT_EQ(at_a.rows, 2U);
  EXPECT_EQ(at_a.features.to_dense(), (std::vector<std::int64_t>{0, 6}));
  const Batch at_b = make_batch(dataset(split.b), Rows{1, 2}, 2);
  EXPECT_EQ(at_b.labels, (std::vector<double>{20, 30}));
}

TEST(Batch, HasTheShapeOfTheOthersWithoutRowsOrColumns) {
  const Batch empty = make_batch(dataset(table()), Rows{}, 3);
  EXPECT_EQ(empty.rows, 0U);
  EXPECT_EQ(empty.features.rows(), 3U);
  EXPECT_TRUE(empty.labels.empty());
  const Batch narrow = make_batch(dataset(vertical_split(table(), 0).a), Rows{0}, 3);
  EXPECT_EQ(narrow.features.rows(), 3U);
  EXPECT_EQ(narrow.features.cols(), 0U);
}

TEST(Batch, RefusesRowsThatDoNotFit) {
  EXPECT_THROW((void)make_batch(dataset(table()), Rows{0, 1, 2}, 2), InvalidArgument);
  EXPECT_THROW((void)make_batch(dataset(table()), Rows{3}, 2), InvalidArgument);
  Dataset uneven = dataset(table());
  uneven.labels.pop_back();
  EXPECT_THROW((void)make_batch(uneven, Rows{0}, 2), InvalidArgument);
}

}  // namespace
}  // namespace blindfl::data::batches_test
