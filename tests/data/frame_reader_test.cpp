#include "blindfl/data/frame_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "blindfl/base/error.h"
#include "real_frames.h"
#include "scratch_file.h"
#include "testing/frames.h"
#include "testing/thrown.h"

namespace blindfl::data::frame_reader_test {
namespace {

using blindfl::testing::message_of;
using blindfl::testing::ScratchFile;

FrameSpec spec_of_all_kinds() {
  return {.columns = {{.name = "id", .kind = ColumnKind::kId},
                      {.name = "x", .kind = ColumnKind::kNumeric},
                      {.name = "city", .kind = ColumnKind::kCategory},
                      {.name = "tags", .kind = ColumnKind::kCategories},
                      {.name = "y", .kind = ColumnKind::kNumeric}}};
}

std::string text_of(std::size_t rows) {
  std::string text = "id,x,city,tags,y\n";
  for (std::size_t i = 0; i < rows; ++i) {
    const std::string number = std::to_string(i);
    text.append("u").append(number).append(",").append(number).append(",c").append(std::to_string(i % 3));
    text.append(",a|b").append(number).append(",").append(std::to_string(i % 2)).append("\n");
  }
  return text;
}

TEST(FrameReader, GivesTheFileInFramesThatAreNoLarger) {
  const ScratchFile file(text_of(10));
  const Frame whole = read_frame(file.path(), spec_of_all_kinds());
  FrameReader reader(file.path(), spec_of_all_kinds());
  std::size_t rows = 0;
  for (const std::size_t expected : {4U, 4U, 2U}) {
    const auto frame = reader.next(4);
    ASSERT_TRUE(frame.has_value());
    ASSERT_EQ(frame->rows, expected);
    for (std::size_t r = 0; r < frame->rows; ++r, ++rows) {
      EXPECT_EQ(frame->ids[r], whole.ids[rows]);
      EXPECT_EQ(frame->numeric[1].values[r], whole.numeric[1].values[rows]);
      EXPECT_EQ(frame->numeric[0].values[r], whole.numeric[0].values[rows]);
      for (std::size_t c = 0; c < 2; ++c) {
        const CategoryColumn& mine = frame->categories[c];
        const CategoryColumn& theirs = whole.categories[c];
        ASSERT_EQ(mine.codes_of(r).size(), theirs.codes_of(rows).size());
        EXPECT_EQ(mine.dictionary[mine.codes_of(r).back()], theirs.dictionary[theirs.codes_of(rows).back()]);
      }
    }
    EXPECT_LE(frame->categories[1].dictionary.size(), 5U) << "only what this frame has";
  }
  EXPECT_FALSE(reader.next(4).has_value());
  EXPECT_FALSE(reader.next(4).has_value());
}

TEST(FrameReader, KnowsWhereEachRowOfAFrameBegan) {
  const ScratchFile file("x,city\n1,\"two\nlines\"\n\n2,b\n3,c\n");
  FrameReader reader(file.path(), {.others = ColumnKind::kCategory});
  ASSERT_TRUE(reader.next(2).has_value());
  EXPECT_EQ(reader.where(0, "x"), file.path().string() + ": line 2: column 1 ('x')");
  EXPECT_EQ(reader.where(1, "city"), file.path().string() + ": line 5: column 2 ('city')");
  EXPECT_THROW((void)reader.where(2, "x"), InvalidArgument);
  EXPECT_THROW((void)reader.where(0, "z"), InvalidArgument);
  ASSERT_TRUE(reader.next(2).has_value());
  EXPECT_EQ(reader.where(0, "x"), file.path().string() + ": line 6: column 1 ('x')");
}

TEST(FrameReader, SaysWhereANumberIsMissingThatMayNot) {
  const ScratchFile file("x\n1\n?\n");
  FrameReader reader(file.path(),
                     {.columns = {{.name = "x", .kind = ColumnKind::kNumeric, .optional = false}}, .missing = {"?"}});
  EXPECT_TRUE(reader.next(1).has_value());
  const std::string message = message_of<DataError>([&] { (void)reader.next(1); });
  EXPECT_EQ(message, file.path().string() +
                         ": line 3: column 1 ('x'): the number is missing, which is not allowed in this column; "
                         "fill it in, or say what it becomes");
}

TEST(FrameReader, SeparatesCategoriesByTexts) {
  const ScratchFile file("t\na::b:c::::d\n");
  FrameReader reader(file.path(), {.columns = {{.name = "t", .kind = ColumnKind::kCategories, .separator = "::"}}});
  EXPECT_EQ(reader.next(1)->categories[0].dictionary, (std::vector<std::string>{"a", "b:c", "d"}));
  EXPECT_THROW(FrameReader(file.path(), {.columns = {{.name = "t", .kind = ColumnKind::kCategories, .separator = ""}}}),
               InvalidArgument);
}

TEST(FrameReader, RefusesFilesWithoutRowsAndFramesWithoutThem) {
  const ScratchFile header("x\n");
  FrameReader reader(header.path(), {.others = ColumnKind::kNumeric});
  EXPECT_THROW((void)reader.next(1), DataError);
  EXPECT_THROW((void)reader.next(0), InvalidArgument);
}

TEST(FrameReader, HoldsAPieceOfAdultAtATime) {
  BLINDFL_NEEDS_DATA("adult.data.xz");
  FrameReader reader(blindfl::testing::real_data("adult.data.xz"), testing::adult_spec());
  std::size_t rows = 0;
  std::size_t rich = 0;
  while (const auto frame = reader.next(1000)) {
    EXPECT_LE(frame->rows, 1000U);
    rows += frame->rows;
    rich += static_cast<std::size_t>(
        std::ranges::count(blindfl::testing::with_labels(*frame, "income", ">50K").labels, 1.0));
  }
  EXPECT_EQ(rows, 32'561U);
  EXPECT_EQ(rich, 7'841U);
}

}  // namespace
}  // namespace blindfl::data::frame_reader_test
