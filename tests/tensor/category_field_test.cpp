#include "blindfl/tensor/category_field.h"

#include <gtest/gtest.h>

#include <vector>

#include "blindfl/base/error.h"
#include "testing/thrown.h"

namespace blindfl::category_field_test {
namespace {

using Column = IntMatrix::Column;

TEST(CategoryField, OneCategoryInEachRowIsAOneHotMatrix) {
  const CategoryField field{.categories = 4};
  const IntMatrix x = encode_categories(field, std::vector<Column>{2, 0, 3});
  EXPECT_EQ(x.kind(), IntMatrix::Kind::kOneHot);
  EXPECT_EQ(x.to_dense(), (std::vector<std::int64_t>{0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(x.scale(), field.scale());
  EXPECT_EQ(x.bound(), field.bound());
}

TEST(CategoryField, ARowWithoutACategoryIsARowOfZeros) {
  const CategoryField field{.categories = 2};
  const IntMatrix x = encode_categories(field, std::vector<std::size_t>{0, 0, 1}, std::vector<Column>{1});
  EXPECT_EQ(x.to_dense(), (std::vector<std::int64_t>{0, 0, 0, 1}));
}

TEST(CategoryField, CategoriesOfARowAreAddedUp) {
  const CategoryField field{.categories = 3, .most = 4};
  const IntMatrix x =
      encode_categories(field, std::vector<std::size_t>{0, 4, 4, 5}, std::vector<Column>{2, 0, 2, 2, 1});
  EXPECT_EQ(x.to_dense(), (std::vector<std::int64_t>{1, 0, 3, 0, 0, 0, 0, 1, 0}));
  EXPECT_EQ(x.scale(), 0);
  EXPECT_EQ(x.bound(), 4U);
}

TEST(CategoryField, SharesOfAMeanAddUpToOne) {
  const CategoryField field{.categories = 4, .most = 3, .pooling = Pooling::kMean};
  const IntMatrix x = encode_categories(field, std::vector<std::size_t>{0, 3, 4}, std::vector<Column>{3, 1, 0, 2});
  EXPECT_EQ(x.scale(), CategoryField::kMeanScale);
  const std::vector<std::int64_t> values = x.to_dense();
  const std::int64_t one = std::int64_t{1} << CategoryField::kMeanScale;
  EXPECT_NEAR(static_cast<double>(values[0] + values[1] + values[3]), static_cast<double>(one), 2);
  EXPECT_EQ(values[2], 0);
  EXPECT_EQ(values[4 + 2], one);
}

TEST(CategoryField, TooManyCategoriesAreAnErrorThatNamesFieldAndRow) {
  const CategoryField field{.name = "colour", .categories = 9, .most = 2};
  const std::string text = testing::message_of<DataError>([&] {
    (void)encode_categories(field, std::vector<std::size_t>{0, 1, 4}, std::vector<Column>{8, 1, 2, 3});
  });
  EXPECT_NE(text.find("'colour'"), std::string::npos);
  EXPECT_NE(text.find("row 1 has 3 categories"), std::string::npos);
}

TEST(CategoryField, WhatDoesNotFitTogetherIsRefused) {
  const CategoryField field{.categories = 2};
  EXPECT_THROW((void)encode_categories(field, std::vector<Column>{2}), InvalidArgument);
  EXPECT_THROW((void)encode_categories(CategoryField{}, std::vector<Column>{0}), InvalidArgument);
  EXPECT_THROW((void)encode_categories(field, std::vector<std::size_t>{0, 2}, std::vector<Column>{1}), InvalidArgument);
  EXPECT_THROW((void)encode_categories(field, std::vector<std::size_t>{}, std::vector<Column>{}), InvalidArgument);
}

}  // namespace
}  // namespace blindfl::category_field_test
