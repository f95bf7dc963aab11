#include "blindfl/data/dataset.h"

#include <gtest/gtest.h>

#include "blindfl/base/error.h"

namespace blindfl::data {
namespace {

FixedPointSpec suggested(std::vector<double> values) {
  const std::size_t cols = values.size();
  return suggest_encoding(Table::dense(1, cols, std::move(values), {}));
}

TEST(SuggestedEncoding, HasNoFractionalBitsForIntegers) {
  EXPECT_EQ(suggested({0, 1, 0, 1}).scale, 0);
  EXPECT_EQ(suggested({0, 1, 0, 1}).largest, 1.0);
  EXPECT_EQ(suggested({3, -7, 0}).scale, 0);
  EXPECT_EQ(suggested({3, -7, 0}).largest, 8.0);
  EXPECT_EQ(suggested({3, -8, 0}).largest, 8.0);
}

TEST(SuggestedEncoding, HasSixteenWhereAnyValueIsReal) {
  EXPECT_EQ(suggested({1, 0.5}).scale, 16);
  EXPECT_EQ(suggested({1, 0.5}).largest, 1.0);
  EXPECT_EQ(suggested({100.25, -3}).largest, 128.0);
}

TEST(SuggestedEncoding, EncodesTheTableItWasMadeFor) {
  const Table table = Table::dense(2, 2, {1.5, -2, 0.25, 3.75}, {});
  const Dataset rows = make_dataset(table, FixedPoint(suggest_encoding(table)));
  EXPECT_EQ(rows.features.to_dense(), (std::vector<std::int64_t>{98304, -131072, 16384, 245760}));
}

TEST(SuggestedEncoding, NamesTheValueThatNothingSuits) {
  EXPECT_THROW((void)suggested({1, 1e13}), DataError);
}

}  // namespace
}  // namespace blindfl::data
