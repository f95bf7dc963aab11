#include "blindfl/data/dataset.h"

#include <gtest/gtest.h>

namespace blindfl::data::dataset_test {
namespace {

TEST(Dataset, IsATableEncodedWithItsLabels) {
  const Table table = Table::dense(2, 2, {1.5, -2, 0.25, 3.75}, {1, 0});
  const Dataset rows = make_dataset(table, FixedPoint({.scale = 16, .largest = 4}));
  EXPECT_EQ(rows.features.to_dense(), (std::vector<std::int64_t>{98304, -131072, 16384, 245760}));
  EXPECT_EQ(rows.labels, table.labels());
  EXPECT_EQ(rows.rows(), 2U);
}

}  // namespace
}  // namespace blindfl::data::dataset_test
