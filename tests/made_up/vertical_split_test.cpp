#include "made_up/vertical_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "blindfl/base/error.h"
#include "made_up/tables.h"

namespace blindfl::made_up::vertical_split_test {
namespace {

using data::Table;

Table table() {
  return Table::csr(2, 4, {0, 2, 4}, {0, 2, 1, 3}, {1, 2, 3, 4}, {5, 6});
}

TEST(VerticalSplit, GivesAFirstColumnsAndBTheRestWithTheLabels) {
  for (const Table& whole : {table(), as_dense(table())}) {
    const VerticalSplit split = vertical_split(whole, 1);
    EXPECT_EQ(split.a.to_dense(), (std::vector<float>{1, 0}));
    EXPECT_EQ(split.b.to_dense(), (std::vector<float>{0, 2, 0, 3, 0, 4}));
    EXPECT_TRUE(split.a.labels().empty());
    EXPECT_EQ(split.b.labels(), whole.labels());
    EXPECT_EQ(split.a.kind(), whole.kind());
    EXPECT_EQ(split.b.kind(), whole.kind());
  }
}

TEST(VerticalSplit, MayLeaveOneSideWithoutColumns) {
  const VerticalSplit all_b = vertical_split(table(), 0);
  EXPECT_EQ(all_b.a.cols(), 0U);
  EXPECT_EQ(all_b.a.rows(), 2U);
  EXPECT_EQ(all_b.b.to_dense(), table().to_dense());
  const VerticalSplit all_a = vertical_split(table(), 4);
  EXPECT_EQ(all_a.a.to_dense(), table().to_dense());
  EXPECT_TRUE(all_a.a.labels().empty());
  EXPECT_EQ(all_a.b.cols(), 0U);
  EXPECT_EQ(all_a.b.labels(), table().labels());
}

TEST(VerticalSplit, RefusesMoreColumnsThanThereAre) {
  EXPECT_THROW((void)vertical_split(table(), 5), InvalidArgument);
}

TEST(HashedTestRows, FollowTheRuleOfTheDataPage) {
  // connect-4 and news20, as the page that states the rule counts them.
  const RowSplit connect4 = hashed_test_rows(67'557);
  EXPECT_EQ(connect4.train.size(), 54'045U);
  EXPECT_EQ(connect4.test.size(), 13'512U);
  const RowSplit news20 = hashed_test_rows(15'935);
  EXPECT_EQ(news20.train.size(), 12'746U);
  EXPECT_EQ(news20.test.size(), 3'189U);
  // By hand: 0 * m = 0, and 1 * m = 2654435761, and 2 * m mod 2^32 = 1013904226, and 5 * m mod 2^32 = 387276917.
  EXPECT_EQ(hashed_test_rows(6).test, (std::vector<std::uint32_t>{0, 5}));
  EXPECT_EQ(hashed_test_rows(6).train, (std::vector<std::uint32_t>{1, 2, 3, 4}));
}

TEST(HashedTestRows, ShareOutEveryRowOnce) {
  const RowSplit split = hashed_test_rows(1000);
  EXPECT_TRUE(std::ranges::is_sorted(split.train));
  EXPECT_TRUE(std::ranges::is_sorted(split.test));
  std::vector<std::uint32_t> all;
  std::ranges::merge(split.train, split.test, std::back_inserter(all));
  ASSERT_EQ(all.size(), 1000U);
  for (std::uint32_t r = 0; r < 1000; ++r) EXPECT_EQ(all[r], r);
  EXPECT_TRUE(hashed_test_rows(0).train.empty());
  EXPECT_TRUE(hashed_test_rows(0).test.empty());
}

TEST(HashedTestRows, RefuseMoreRowsThanCanBeNumbered) {
  EXPECT_THROW((void)hashed_test_rows(std::size_t{1} << 32), InvalidArgument);
}

}  // namespace
}  // namespace blindfl::made_up::vertical_split_test
