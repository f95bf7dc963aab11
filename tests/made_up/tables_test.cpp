#include "made_up/tables.h"

#include <gtest/gtest.h>

#include <vector>

#include "blindfl/base/error.h"

namespace blindfl::made_up::tables_test {
namespace {

using data::Table;
using Floats = std::vector<float>;

// 1 0 2 0
// 0 0 0 0
// 0 3 4 5
Table sparse() {
  return Table::csr(3, 4, {0, 2, 2, 5}, {0, 2, 1, 2, 3}, {1, 2, 3, 4, 5}, {10, 20, 30});
}

TEST(Tables, SelectARangeOfColumnsWithTheLabels) {
  for (const Table& table : {sparse(), as_dense(sparse())}) {
    const Table t = select_columns(table, 1, 3);
    EXPECT_EQ(t.kind(), table.kind());
    EXPECT_EQ(t.cols(), 2U);
    EXPECT_EQ(t.to_dense(), (Floats{0, 2, 0, 0, 3, 4}));
    EXPECT_EQ(t.labels(), table.labels());
    EXPECT_EQ(select_columns(table, 2, 2).cols(), 0U);
    EXPECT_EQ(select_columns(table, 2, 2).rows(), 3U);
    EXPECT_EQ(select_columns(table, 0, 4).to_dense(), table.to_dense());
    EXPECT_THROW((void)select_columns(table, 3, 2), InvalidArgument);
    EXPECT_THROW((void)select_columns(table, 0, 5), InvalidArgument);
  }
}

TEST(Tables, StoreEverythingWhereTheyAreDense) {
  EXPECT_EQ(as_dense(sparse()).stored(), 12U);
  EXPECT_EQ(as_dense(sparse()).kind(), Table::Kind::kDense);
  EXPECT_EQ(as_dense(sparse()).to_dense(), sparse().to_dense());
  EXPECT_EQ(as_dense(sparse()).labels(), sparse().labels());
}

TEST(Tables, NumberTheirLabelsInTheOrderOfTheirValues) {
  const Table t = Table::dense(5, 1, {1, 2, 3, 4, 5}, {1, -1, 7.5, -1, 1});
  EXPECT_EQ(with_class_labels(t).labels(), (std::vector<double>{1, 0, 2, 0, 1}));
  EXPECT_TRUE(with_class_labels(t.with_labels({})).labels().empty());
}

}  // namespace
}  // namespace blindfl::made_up::tables_test
