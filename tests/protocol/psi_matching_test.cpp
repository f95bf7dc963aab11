#include "blindfl/protocol/align/psi_matching.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "blindfl/base/error.h"
#include "testing/thrown.h"

namespace blindfl::protocol::psi_matching_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// For matching any bytes will do.
Points make_points(const std::vector<int>& numbers) {
  Points points;
  for (const int number : numbers) {
    points.emplace_back();
    points.back()[7] = static_cast<std::byte>(number);
  }
  return points;
}

TEST(Shuffled, IsEveryOrderEquallyOften) {
  Random random;
  std::map<std::vector<std::uint32_t>, int> counts;
  constexpr int kDraws = 6000;
  for (int i = 0; i < kDraws; ++i) ++counts[shuffled(3, random)];
  ASSERT_EQ(counts.size(), 6U);
  // 1000 expected, with a deviation of 29.
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 200);
  EXPECT_TRUE(shuffled(0, random).empty());
}

TEST(RequireDistinct, CountsRepetitionsAndNamesRowsButNoId) {
  const std::vector<std::string> good{"anna", "", "bert", std::string("bert\0", 5)};
  EXPECT_NO_THROW(require_distinct(good));
  EXPECT_NO_THROW(require_distinct({}));
  const std::vector<std::string> bad{"anna", "bert", "carl", "bert", "anna", "bert", "dora"};
  const std::string message = testing::message_of<DataError>([&] { require_distinct(bad); });
  EXPECT_THAT(message, HasSubstr("3 of 7 ids"));
  EXPECT_THAT(message, HasSubstr("rows 1 and 3"));
  EXPECT_THAT(message, ::testing::Not(HasSubstr("bert")));
}

TEST(Matching, IntersectionIsAscendingWithThisPartysRows) {
  const OwnPoints own{make_points({9, 4, 2, 7}), {0, 3, 1, 2}};
  const MatchedPoints common = intersection(own, make_points({7, 1, 9, 3, 2, 8}));
  EXPECT_EQ(common.points, make_points({2, 7, 9}));
  EXPECT_THAT(common.rows, ElementsAre(1, 2, 0));
  EXPECT_TRUE(intersection(own, make_points({1, 3, 10})).rows.empty());
  EXPECT_TRUE(intersection(own, {}).rows.empty());
  EXPECT_TRUE(intersection({}, make_points({1})).rows.empty());
}

TEST(Matching, RowsFollowTheOrderOfTheOthersPoints) {
  const OwnPoints own{make_points({9, 4, 2, 7}), {0, 3, 1, 2}};
  const MatchedPoints matched = rows_of(own, make_points({7, 1, 9, 10, 4}));
  EXPECT_EQ(matched.points, make_points({7, 1, 9, 10, 4}));
  EXPECT_THAT(matched.rows, ElementsAre(2, kNoRow, 0, kNoRow, 3));
}

TEST(Matching, UnionHasEveryPointOnce) {
  const OwnPoints own{make_points({9, 4, 2}), {0, 2, 1}};
  const MatchedPoints all = union_of(own, make_points({3, 1}));
  EXPECT_EQ(all.points, make_points({1, 2, 3, 4, 9}));
  EXPECT_THAT(all.rows, ElementsAre(kNoRow, 1, kNoRow, 2, 0));
  EXPECT_THROW((void)union_of(own, make_points({3, 4})), ProtocolError);
}

TEST(Matching, DifferenceKeepsItsOrder) {
  EXPECT_EQ(difference(make_points({5, 1, 4, 2}), make_points({2, 3, 5})), make_points({1, 4}));
  EXPECT_EQ(difference(make_points({5, 1}), {}), make_points({5, 1}));
}

TEST(StandIns, AreRowsThatAreAtNoPlaceAndNoneComesTwice) {
  Random random;
  std::set<std::vector<std::uint32_t>> seen;
  for (int i = 0; i < 50; ++i) {
    const Alignment alignment = with_stand_ins({kNoRow, 4, kNoRow, 0, kNoRow}, 6, random);
    EXPECT_THAT(alignment.real, ElementsAre(false, true, false, true, false));
    EXPECT_EQ(alignment.rows[1], 4U);
    EXPECT_EQ(alignment.rows[3], 0U);
    std::vector<std::uint32_t> stand_ins{alignment.rows[0], alignment.rows[2], alignment.rows[4]};
    seen.insert(stand_ins);
    std::ranges::sort(stand_ins);
    EXPECT_EQ(std::ranges::adjacent_find(stand_ins), stand_ins.end());
    for (const std::uint32_t row : stand_ins) EXPECT_TRUE(row == 1 || row == 2 || row == 3 || row == 5);
  }
  EXPECT_GT(seen.size(), 10U) << "they are not drawn at random";
}

TEST(StandIns, RepeatAllRowsEvenlyWhenThereAreTooFew) {
  Random random;
  const Alignment alignment = with_stand_ins(std::vector<std::uint32_t>(31, kNoRow), 3, random);
  std::map<std::uint32_t, int> counts;
  for (const std::uint32_t row : alignment.rows) ++counts[row];
  ASSERT_EQ(counts.size(), 3U);
  for (const auto& [row, count] : counts) EXPECT_NEAR(count, 31.0 / 3, 1);
  EXPECT_EQ(std::ranges::count(alignment.real, true), 0);
}

TEST(StandIns, NeedARowToStandIn) {
  Random random;
  EXPECT_THROW((void)with_stand_ins({kNoRow}, 0, random), InvalidArgument);
  EXPECT_EQ(with_stand_ins({}, 0, random).size(), 0U);
}

}  // namespace
}  // namespace blindfl::protocol::psi_matching_test
