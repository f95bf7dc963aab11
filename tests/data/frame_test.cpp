#include "blindfl/data/frame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/base/error.h"
#include "real_frames.h"
#include "scratch_file.h"
#include "testing/frames.h"
#include "testing/thrown.h"

namespace blindfl::data::frame_test {
namespace {

using blindfl::testing::category_column;
using blindfl::testing::message_of;
using blindfl::testing::numeric_column;
using blindfl::testing::ScratchFile;
using Texts = std::vector<std::string>;

Frame read(std::string_view text, const FrameSpec& spec) {
  return read_frame(ScratchFile(text).path(), spec);
}

/// A row's categories, by name; "?" for a missing one.
Texts categories_of(const CategoryColumn& column, std::size_t row) {
  Texts texts;
  for (const std::uint32_t code : column.codes_of(row)) {
    texts.push_back(code == CategoryColumn::kMissing ? "?" : column.dictionary.at(code));
  }
  return texts;
}

TEST(Frame, ReadsEachKindOfColumn) {
  const Frame frame = read("id,age,city,tags,y,nobody\nu1,+2.5,Rome,a|b,1,x\nu2,-1e3,Bern,b,0,x\nu3,0,Rome,,0.5,x\n",
                           {.columns = {{.name = "y", .kind = ColumnKind::kNumeric},
                                        {.name = "tags", .kind = ColumnKind::kCategories},
                                        {.name = "city", .kind = ColumnKind::kCategory},
                                        {.name = "age", .kind = ColumnKind::kNumeric},
                                        {.name = "id", .kind = ColumnKind::kId}},
                            .missing = {}});
  EXPECT_EQ(frame.rows, 3U);
  EXPECT_EQ(frame.ids, (Texts{"u1", "u2", "u3"}));
  ASSERT_EQ(frame.numeric.size(), 2U);
  EXPECT_EQ(frame.numeric[0].values, (std::vector<double>{1, 0, 0.5}));
  EXPECT_EQ(numeric_column(frame, "age").values, (std::vector<double>{2.5, -1000, 0}));
  ASSERT_EQ(frame.categories.size(), 2U);
  EXPECT_EQ(frame.categories[0].name, "tags");
  const CategoryColumn& city = category_column(frame, "city");
  EXPECT_FALSE(city.has_several());
  EXPECT_EQ(city.rows(), 3U);
  EXPECT_EQ(city.dictionary, (Texts{"Rome", "Bern"}));
  EXPECT_EQ(city.codes, (std::vector<std::uint32_t>{0, 1, 0}));
  const CategoryColumn& tags = category_column(frame, "tags");
  EXPECT_TRUE(tags.has_several());
  EXPECT_EQ(tags.rows(), 3U);
  EXPECT_EQ(categories_of(tags, 0), (Texts{"a", "b"}));
  EXPECT_EQ(categories_of(tags, 1), Texts{"b"});
  EXPECT_EQ(categories_of(tags, 2), Texts{});
  EXPECT_THROW((void)tags.codes_of(3), InvalidArgument);
}

TEST(Frame, MarksWhatIsMissing) {
  const Frame frame = read("x,c,m\n,,\n?,?,?\n-1,-1,-1|a|?|-1\n1,b,|a||\n",
                           {.columns = {{.name = "x", .kind = ColumnKind::kNumeric},
                                        {.name = "c", .kind = ColumnKind::kCategory, .missing = {"-1"}},
                                        {.name = "m", .kind = ColumnKind::kCategories, .missing = {"-1"}}},
                            .missing = {"", "?"}});
  const std::vector<double>& x = frame.numeric[0].values;
  EXPECT_TRUE(std::isnan(x[0]) && std::isnan(x[1]));
  EXPECT_EQ(x[2], -1);
  const std::uint32_t missing = CategoryColumn::kMissing;
  EXPECT_EQ(frame.categories[0].codes, (std::vector<std::uint32_t>{missing, missing, missing, 0}));
  const CategoryColumn& m = frame.categories[1];
  EXPECT_EQ(categories_of(m, 0), Texts{"?"});
  EXPECT_EQ(categories_of(m, 1), Texts{"?"});
  EXPECT_EQ(categories_of(m, 2), (Texts{"?", "a", "?", "?"}));
  EXPECT_EQ(categories_of(m, 3), Texts{"a"});
}

TEST(Frame, TakesTheOtherColumnsAsToldAndInOrder) {
  const FrameSpec spec{.columns = {{.name = "d", .kind = ColumnKind::kNumeric}, {.name = "b"}},
                       .others = ColumnKind::kNumeric};
  const Frame frame = read("a,b,c,d\n1,x,3,4\n", spec);
  ASSERT_EQ(frame.numeric.size(), 3U);
  EXPECT_EQ(frame.numeric[0].name, "d");
  EXPECT_EQ(frame.numeric[1].name, "a");
  EXPECT_EQ(frame.numeric[2].name, "c");
}

TEST(Frame, TrimsCategoriesWithinACell) {
  const ColumnSpec tags{.name = "1", .kind = ColumnKind::kCategories, .separator = ";"};
  const Frame frame = read(" a ; b ;; a\n", {.format = {.header = false, .trim = true}, .columns = {tags}});
  EXPECT_EQ(categories_of(frame.categories[0], 0), (Texts{"a", "b", "a"}));
  EXPECT_EQ(frame.categories[0].dictionary, (Texts{"a", "b"}));
}

TEST(Frame, SaysWhereAndWhatIsWrongAndNeverTheValue) {
  struct Case {
    std::string row;
    std::string expected;
  };
  const FrameSpec spec{.columns = {{.name = "x", .kind = ColumnKind::kNumeric},
                                   {.name = "y", .kind = ColumnKind::kNumeric, .optional = false},
                                   {.name = "id", .kind = ColumnKind::kId}}};
  const std::vector<Case> cases = {
      {"777x,1,a,i", "column 1 ('x'): not a number"},         {"0x777,1,a,i", "column 1 ('x'): not a number"},
      {" 777,1,a,i", "column 1 ('x'): not a number"},         {"+-777,1,a,i", "column 1 ('x'): not a number"},
      {"1e777,1,a,i", "column 1 ('x'): not a finite number"}, {"1e-777,1,a,i", "column 1 ('x'): not a finite number"},
      {"nan,1,a,777", "column 1 ('x'): not a finite number"}, {"-inf,1,a,777", "column 1 ('x'): not a finite number"},
      {"777,,a,i", "column 2 ('y'): the number is missing"},  {"777,a,a,i", "column 2 ('y'): not a number"},
      {"777,1,a,", "column 4 ('id'): the id is missing"},
  };
  for (const Case& c : cases) {
    const ScratchFile file("x,y,k,id\n1,1,a,i\n" + c.row + "\n");
    const std::string message = message_of<DataError>([&] { (void)read_frame(file.path(), spec); });
    const std::string where = file.path().string() + ": line 3: ";
    ASSERT_TRUE(message.starts_with(where)) << c.row << " gave: " << message;
    EXPECT_NE(message.find(c.expected), std::string::npos) << c.row << " gave: " << message;
    EXPECT_EQ(message.find("777", where.size()), std::string::npos) << c.row << " gave: " << message;
  }
}

TEST(Frame, NamesTheColumnThatAFileLacks) {
  const ScratchFile file("x\n1\n");
  const std::string message = message_of<DataError>(
      [&] { (void)read_frame(file.path(), {.columns = {{.name = "age", .kind = ColumnKind::kNumeric}}}); });
  EXPECT_EQ(message,
            file.path().string() + ": has no column 'age'; check the header, or the names that were given instead");
}

TEST(Frame, RefusesAFileWithoutRows) {
  for (const bool header : {true, false}) {
    const std::string message = message_of<DataError>([&] {
      (void)read(header ? "x\n" : "",
                 {.format = {.header = header}, .columns = {{.name = "x", .kind = ColumnKind::kNumeric}}});
    });
    EXPECT_NE(message.find("holds no rows"), std::string::npos) << message;
  }
}

TEST(Frame, RefusesSpecsThatMakeNoSense) {
  const ColumnSpec id{.name = "a", .kind = ColumnKind::kId};
  ColumnSpec other = id;
  other.name = "b";
  EXPECT_THROW((void)read("a,b\n1,2\n", {.columns = {id, other}}), InvalidArgument);
  EXPECT_THROW((void)read("a,b\n1,2\n", {.columns = {id, id}}), InvalidArgument);
  EXPECT_THROW((void)read("a,b\n1,2\n", {.others = ColumnKind::kId}), InvalidArgument);
  other = {.name = "b", .kind = ColumnKind::kCategories, .separator = ""};
  EXPECT_THROW((void)read("a,b\n1,2\n", {.columns = {other}}), InvalidArgument);
}

TEST(Frame, ReadsAdult) {
  BLINDFL_NEEDS_DATA("adult.data.xz");
  const Frame train = read_frame(blindfl::testing::real_data("adult.data.xz"), testing::adult_spec());
  EXPECT_EQ(train.rows, 32'561U);
  EXPECT_EQ(train.numeric.size(), 6U);
  EXPECT_EQ(train.categories.size(), 8U + 1);
  const auto labels = blindfl::testing::with_labels(train, "income", ">50K").labels;
  EXPECT_EQ(std::ranges::count(labels, 1.0), 7'841);
  EXPECT_EQ(std::ranges::count(labels, 0.0), 24'720);
  EXPECT_EQ(category_column(train, "workclass").dictionary.size(), 8U);
  EXPECT_EQ(category_column(train, "education").dictionary.size(), 16U);
  EXPECT_EQ(category_column(train, "native-country").dictionary.size(), 41U);
  EXPECT_EQ(std::ranges::count(category_column(train, "workclass").codes, CategoryColumn::kMissing), 1'836);
}

TEST(Frame, ReadsAdultsTestSet) {
  BLINDFL_NEEDS_DATA("adult.test.xz");
  const Frame test = read_frame(blindfl::testing::real_data("adult.test.xz"), testing::adult_spec());
  EXPECT_EQ(test.rows, 16'281U);
  const auto labels = blindfl::testing::with_labels(test, "income", ">50K.").labels;
  EXPECT_EQ(std::ranges::count(labels, 1.0), 3'846);
  EXPECT_EQ(std::ranges::count(labels, 0.0), 12'435);
}

TEST(Frame, ReadsAvazu) {
  BLINDFL_NEEDS_DATA("avazu.15k.csv.xz");
  const Frame frame = read_frame(blindfl::testing::real_data("avazu.15k.csv.xz"), testing::avazu_spec());
  EXPECT_EQ(frame.rows, 15'000U);
  EXPECT_EQ(frame.categories.size(), 21U);
  EXPECT_EQ(std::ranges::count(numeric_column(frame, "click").values, 1.0), 2'559);
  EXPECT_EQ(std::ranges::count(numeric_column(frame, "click").values, 0.0), 12'441);
  EXPECT_EQ(category_column(frame, "hour").dictionary.size(), 24U);
  EXPECT_EQ(category_column(frame, "site_id").dictionary.size(), 721U);
  EXPECT_EQ(category_column(frame, "device_model").dictionary.size(), 1'599U);
  EXPECT_EQ(category_column(frame, "C14").dictionary.size(), 1'116U);
}

TEST(Frame, ReadsTheVerticallySplitBreastSet) {
  BLINDFL_NEEDS_DATA("fate-vertical/breast_hetero_guest.csv.xz");
  const Frame frame =
      read_frame(blindfl::testing::real_data("fate-vertical/breast_hetero_guest.csv.xz"),
                 {.columns = {{.name = "id", .kind = ColumnKind::kId}}, .others = ColumnKind::kNumeric});
  EXPECT_EQ(frame.rows, 569U);
  EXPECT_EQ(frame.numeric.size(), 10U + 1);
  EXPECT_EQ(frame.ids.front(), "133");
  EXPECT_EQ(std::ranges::count(numeric_column(frame, "y").values, 1.0), 357);
}

}  // namespace
}  // namespace blindfl::data::frame_test
