#include "blindfl/data/table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "blindfl/base/error.h"
#include "testing/thrown.h"

namespace blindfl::data::table_test {
namespace {

using blindfl::testing::message_of;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// 1 0 2 0
// 0 0 0 0
// 0 3 4 5
Table sparse() {
  return Table::csr(3, 4, {0, 2, 2, 5}, {0, 2, 1, 2, 3}, {1, 2, 3, 4, 5}, {10, 20, 30});
}
Table dense() {
  return Table::dense(3, 4, {1, 0, 2, 0, 0, 0, 0, 0, 0, 3, 4, 5}, {10, 20, 30});
}

using Floats = std::vector<float>;
using Doubles = std::vector<double>;
using Integers = std::vector<std::int64_t>;

/// Everything that holds for both kinds.
class TableOfEitherKind : public ::testing::TestWithParam<Table::Kind> {
 protected:
  [[nodiscard]] static Table table() { return GetParam() == Table::Kind::kDense ? dense() : sparse(); }
};

INSTANTIATE_TEST_SUITE_P(Kinds, TableOfEitherKind, ::testing::Values(Table::Kind::kDense, Table::Kind::kCsr),
                         [](const auto& kind) { return kind.param == Table::Kind::kDense ? "Dense" : "Csr"; });

TEST_P(TableOfEitherKind, HoldsWhatItWasGiven) {
  const Table t = table();
  EXPECT_EQ(t.kind(), GetParam());
  EXPECT_EQ(t.rows(), 3U);
  EXPECT_EQ(t.cols(), 4U);
  EXPECT_EQ(t.labels(), (Doubles{10, 20, 30}));
  EXPECT_EQ(t.to_dense(), (Floats{1, 0, 2, 0, 0, 0, 0, 0, 0, 3, 4, 5}));
}

TEST_P(TableOfEitherKind, SelectsRowsInAnyOrderAndAgain) {
  const Table t = table().select_rows(std::vector<std::uint32_t>{2, 1, 2});
  EXPECT_EQ(t.kind(), GetParam());
  EXPECT_EQ(t.to_dense(), (Floats{0, 3, 4, 5, 0, 0, 0, 0, 0, 3, 4, 5}));
  EXPECT_EQ(t.labels(), (Doubles{30, 20, 30}));
  EXPECT_EQ(table().select_rows({}).rows(), 0U);
  EXPECT_EQ(table().select_rows({}).encode(FixedPoint({.scale = 0, .largest = 8})).rows(), 0U);
}

TEST_P(TableOfEitherKind, RefusesToSelectWhatIsNotThere) {
  const Table t = table();
  EXPECT_THROW((void)t.select_rows(std::vector<std::uint32_t>{3}), InvalidArgument);
}

TEST_P(TableOfEitherKind, ExchangesLabels) {
  EXPECT_TRUE(table().with_labels({}).labels().empty());
  EXPECT_TRUE(table().with_labels({}).select_rows(std::vector<std::uint32_t>{0}).labels().empty());
  EXPECT_EQ(table().with_labels({1, 2, 3}).labels(), (Doubles{1, 2, 3}));
  EXPECT_THROW((void)table().with_labels({1, 2}), InvalidArgument);
  EXPECT_THROW((void)table().with_labels({1, 2, kInfinity}), InvalidArgument);
}

TEST_P(TableOfEitherKind, EncodesInItsOwnKind) {
  const IntMatrix encoded = table().encode(FixedPoint({.scale = 2, .largest = 8}));
  EXPECT_EQ(encoded.kind(), GetParam() == Table::Kind::kDense ? IntMatrix::Kind::kDense : IntMatrix::Kind::kCsr);
  EXPECT_EQ(encoded.scale(), 2);
  EXPECT_EQ(encoded.to_dense(), (Integers{4, 0, 8, 0, 0, 0, 0, 0, 0, 12, 16, 20}));
}

TEST_P(TableOfEitherKind, NamesThePlaceOfAValueBeyondTheEncoding) {
  const std::string message =
      message_of<DataError>([] { (void)table().encode(FixedPoint({.scale = 0, .largest = 4})); });
  EXPECT_NE(message.find("row 2, column 3"), std::string::npos) << message;
}

TEST(Table, StoresOnlyEntriesOrEverything) {
  EXPECT_EQ(sparse().stored(), 5U);
  EXPECT_EQ(dense().stored(), 12U);
}

TEST(Table, MayHaveNoRowsOrNoColumns) {
  EXPECT_EQ(Table().rows(), 0U);
  EXPECT_EQ(Table::dense(5, 0, {}).rows(), 5U);
  EXPECT_EQ(Table::csr(2, 0, {0, 0, 0}, {}, {}).to_dense().size(), 0U);
  EXPECT_EQ(Table::csr(0, 7, {0}, {}, {}).cols(), 7U);
}

TEST(Table, RefusesPartsThatDoNotFit) {
  struct Case {
    std::string what;
    std::function<Table()> make;
  };
  const std::size_t huge = std::size_t{1} << 63;
  const std::vector<Case> cases = {
      {"too few values",
       [] {
         return Table::dense(2, 2, {1, 2, 3});
       }},
      {"values without columns", [] { return Table::dense(2, 0, {1}); }},
      {"a product that overflows", [=] { return Table::dense(huge, 2, {}); }},
      {"too many columns", [=] { return Table::csr(0, huge, {0}, {}, {}); }},
      {"an infinite value", [] { return Table::dense(1, 1, {kInfinity}); }},
      {"a NaN",
       [] {
         return Table::csr(1, 1, {0, 1}, {0}, {std::numeric_limits<double>::quiet_NaN()});
       }},
      {"too few labels",
       [] {
         return Table::dense(2, 1, {1, 2}, {1});
       }},
      {"an infinite label", [] { return Table::dense(1, 1, {1}, {-kInfinity}); }},
      {"no row starts", [] { return Table::csr(0, 1, {}, {}, {}); }},
      {"row starts for another number of rows",
       [] {
         return Table::csr(2, 1, {0, 0}, {}, {});
       }},
      {"row starts that do not begin at 0",
       [] {
         return Table::csr(1, 1, {1, 1}, {0}, {1});
       }},
      {"row starts that do not end at the end",
       [] {
         return Table::csr(1, 1, {0, 0}, {0}, {1});
       }},
      {"row starts that fall",
       [] {
         return Table::csr(3, 4, {0, 2, 1, 2}, {0, 1}, {1, 1});
       }},
      {"row starts beyond the end",
       [] {
         return Table::csr(2, 4, {0, 9, 2}, {0, 1}, {1, 1});
       }},
      {"more columns than values",
       [] {
         return Table::csr(1, 4, {0, 2}, {0, 1}, {1});
       }},
      {"a column beyond the last",
       [] {
         return Table::csr(1, 4, {0, 1}, {4}, {1});
       }},
      {"a column twice",
       [] {
         return Table::csr(1, 4, {0, 2}, {1, 1}, {1, 1});
       }},
      {"columns that fall",
       [] {
         return Table::csr(1, 4, {0, 2}, {2, 1}, {1, 1});
       }},
  };
  for (const Case& c : cases) EXPECT_THROW((void)c.make(), InvalidArgument) << c.what;
}

}  // namespace
}  // namespace blindfl::data::table_test
