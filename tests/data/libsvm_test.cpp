#include "blindfl/data/libsvm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "scratch_file.h"
#include "testing/frames.h"
#include "testing/real_data.h"
#include "testing/thrown.h"

namespace blindfl::data::libsvm_test {
namespace {

using blindfl::testing::message_of;
using blindfl::testing::ScratchFile;

Table parse(std::string_view text, const LibsvmOptions& options = {}) {
  return read_libsvm(ScratchFile(text).path(), options);
}

TEST(Libsvm, ReadsLabelsAndEntries) {
  const Table t = parse("+1 1:0.5 3:-2e-1\n-1 2:+7\n3.25 4:1\n");
  EXPECT_EQ(t.kind(), Table::Kind::kCsr);
  EXPECT_EQ(t.rows(), 3U);
  EXPECT_EQ(t.cols(), 4U);
  EXPECT_EQ(t.stored(), 4U);
  EXPECT_EQ(t.labels(), (std::vector<double>{1, -1, 3.25}));
  EXPECT_EQ(t.to_dense(), (std::vector<float>{0.5F, 0, -0.2F, 0, 0, 7, 0, 0, 0, 0, 0, 1}));
}

TEST(Libsvm, ToleratesBlankLinesCommentsAndCrLf) {
  const Table t = parse("# made by hand\r\n\r\n1 1:2 # the first\r\n \t \n0\t 2:3 \t\r\n#\n-1");
  EXPECT_EQ(t.labels(), (std::vector<double>{1, 0, -1}));
  EXPECT_EQ(t.to_dense(), (std::vector<float>{2, 0, 0, 3, 0, 0}));
}

TEST(Libsvm, KeepsRowsWithALabelOnly) {
  const Table t = parse("1\n-1 2:1\n1\n");
  EXPECT_EQ(t.rows(), 3U);
  EXPECT_EQ(t.to_dense(), (std::vector<float>{0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(parse("1\n2\n").cols(), 0U);
}

TEST(Libsvm, TakesTheNumberOfColumnsFromTheOptions) {
  EXPECT_EQ(parse("1 2:1\n", {.cols = 9}).cols(), 9U);
  EXPECT_EQ(parse("1 9:1\n", {.cols = 9}).cols(), 9U);
}

TEST(Libsvm, CountsFromZeroIfAsked) {
  const Table t = parse("1 0:5 2:6\n", {.index_base = 0});
  EXPECT_EQ(t.to_dense(), (std::vector<float>{5, 0, 6}));
}

TEST(Libsvm, RefusesOptionsThatMakeNoSense) {
  EXPECT_THROW((void)parse("1 2:1\n", {.index_base = 2}), InvalidArgument);
  EXPECT_THROW((void)parse("1 2:1\n", {.cols = std::size_t{1} << 40}), InvalidArgument);
}

TEST(Libsvm, NamesTheLineOfABadIndex) {
  const ScratchFile file("1 1:1\n\n# a comment\n1 1:1 x:1\n");
  const std::string message = message_of<DataError>([&] { (void)read_libsvm(file.path()); });
  EXPECT_EQ(message, file.path().string() + ": line 4: entry 2: bad index: not a whole number");
}

TEST(Libsvm, SaysWhatKindOfThingIsWrong) {
  struct Case {
    std::string row;
    std::string expected;
  };
  // Every hostile part contains 777, which must not come back in a message.
  const std::vector<Case> cases = {
      {"x777 1:1", "bad label"},
      {"777x 1:1", "bad label"},
      {"+-777 1:1", "bad label"},
      {"++777 1:1", "bad label"},
      {"777,777 1:1", "bad label"},
      {"1:777", "bad label"},
      {"0x777 1:1", "bad label"},
      {"1e777 1:1", "bad label: not a finite"},
      {"+ 777:1", "bad label"},
      {"inf 777:1", "bad label: not a finite"},
      {"nan 777:1", "bad label: not a finite"},
      {"1 777", "bad index: no colon"},
      {"1 x777:1", "bad index: not a whole"},
      {"1 -777:1", "bad index: not a whole"},
      {"1 +777:1", "bad index: not a whole"},
      {"1 7.77:1", "bad index: not a whole"},
      {"1 :777", "bad index: not a whole"},
      {"1 777 :1", "bad index: no colon"},
      {"1 qid:777 1:1", "bad index: not a whole"},
      {"1 0:777", "bad index: below 1"},
      {"1 4294967295:777", "bad index: too large"},
      {"1 77777777777777777777777777777:1", "bad index: too large"},
      {"1 1000:777", "beyond the last of 999 columns"},
      {"1 3:777 3:777", "entry 2: duplicate index"},
      {"1 3:777 2:777", "entry 2: index not ascending"},
      {"1 3:", "entry 1: bad value"},
      {"1 3:777x", "entry 1: bad value"},
      {"1 3:777:777", "entry 1: bad value"},
      {"1 3:7,77", "entry 1: bad value"},
      {"1 3:+-777", "entry 1: bad value"},
      {"1 3:1e777", "entry 1: non-finite value"},
      {"1 3:1e-777", "beyond what a double holds"},
      {"1 3:-inf 777:1", "entry 1: non-finite value"},
      {"1 3:nan 777:1", "entry 1: non-finite value"},
      {std::string("1 3:777\0", 8), "entry 1: bad value"},
  };
  for (const Case& c : cases) {
    const ScratchFile file("1 1:1\n" + c.row + "\n1 1:1\n");
    const std::string message = message_of<DataError>([&] { (void)read_libsvm(file.path(), {.cols = 999}); });
    const std::string where = file.path().string() + ": line 2: ";
    ASSERT_TRUE(message.starts_with(where)) << c.row << " gave: " << message;
    const std::string rest = message.substr(where.size());
    EXPECT_NE(rest.find(c.expected), std::string::npos) << c.row << " gave: " << message;
    EXPECT_EQ(rest.find("777"), std::string::npos) << c.row << " gave: " << message;
  }
}

TEST(Libsvm, NeedsNoLabelsWhereNobodyWantsThem) {
  const Table table = parse("1:0.5 3:2\n# a comment\n0\n2:1 # last\n\n", {.optional_labels = true});
  EXPECT_EQ(table.rows(), 3U);
  EXPECT_EQ(table.labels(), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(table.cols(), 3U);
  EXPECT_EQ(parse("+1 1:1\n-1 2:1\n", {.optional_labels = true}).labels(), (std::vector<double>{1, -1}));
  // An empty line could be a row without any value: rows after it would be about other people.
  const ScratchFile file("1:1\n\n2:1\n");
  const std::string message = message_of<DataError>([&] { (void)read_libsvm(file.path(), {.optional_labels = true}); });
  EXPECT_EQ(message.find(file.path().string() + ": line 2: is empty, in a file without labels"), 0U) << message;
  EXPECT_EQ(parse("0 1:1\n\n0 2:1\n", {.optional_labels = true}).rows(), 2U);
}

TEST(Libsvm, RefusesAnIndexThatNoTableCanHold) {
  EXPECT_THROW((void)parse("1 4294967294:1\n", {.index_base = 0}), DataError);
  EXPECT_EQ(parse("1 4294967293:1\n").cols(), 4294967293U);
}

TEST(Libsvm, RefusesAFileWithoutRows) {
  for (const std::string_view text : {"", "\n\n", "# nothing\n"}) {
    const std::string message = message_of<DataError>([&] { (void)parse(text); });
    EXPECT_NE(message.find("no rows"), std::string::npos) << message;
  }
}

TEST(Libsvm, DoesNotListenToTheLocale) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  // If no such locale is installed the test is only weaker.
  std::setlocale(LC_ALL, "de_DE.UTF-8");
  EXPECT_EQ(parse("0.5 1:1.25\n").to_dense(), std::vector<float>{1.25F});
  std::setlocale(LC_ALL, before.c_str());
}

TEST(Libsvm, ReadsTheWholeOfA9a) {
  BLINDFL_NEEDS_DATA("a9a.xz");
  const Table t = read_libsvm(blindfl::testing::real_data("a9a.xz"));
  EXPECT_EQ(t.rows(), 32'561U);
  EXPECT_EQ(t.cols(), 123U);
  EXPECT_EQ(t.stored(), 451'592U);
  EXPECT_EQ(std::ranges::count(t.labels(), 1.0), 7'841);
  EXPECT_EQ(std::ranges::count(t.labels(), -1.0), 24'720);
}

TEST(LibsvmLine, IsALabelAndEntriesOrNothing) {
  const auto line = parse_libsvm_line("+1 3:0.5\t0:-2 # 4:1");
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->label, "+1");
  EXPECT_EQ(line->entries, (std::vector<std::pair<std::uint32_t, double>>{{3, 0.5}, {0, -2}}));
  EXPECT_TRUE(parse_libsvm_line("7")->entries.empty());
  for (const char* const text : {"", "yes 1:1", "1 2", "1 x:1", "1 1:x", "1 -1:1", "1,2", "12:30 13:45"}) {
    EXPECT_FALSE(parse_libsvm_line(text).has_value()) << text;
  }
  EXPECT_EQ(parse_libsvm_line("1:2 3:4", true)->label, "");
  EXPECT_EQ(parse_libsvm_line("1:2 3:4", true)->entries.size(), 2U);
  EXPECT_EQ(parse_libsvm_line("5 3:4", true)->label, "5");
}

TEST(Libsvm, ReadsCriteosFields) {
  BLINDFL_NEEDS_DATA("criteo-mini.tr.libsvm.xz");
  const auto frame =
      blindfl::testing::read_libsvm_fields(blindfl::testing::real_data("criteo-mini.tr.libsvm.xz"), 13, 26);
  EXPECT_EQ(frame.rows, 10'000U);
  EXPECT_EQ(frame.numeric.size(), 13U);
  EXPECT_EQ(frame.categories.size(), 26U);
  EXPECT_EQ(std::ranges::count(frame.labels, 1.0), 2'172);
  EXPECT_EQ(std::ranges::count(frame.labels, 0.0), 7'828);
  // Id 13, which is the index of I13 too, is a category of C1 on 17 rows.
  const CategoryColumn& first = blindfl::testing::category_column(frame, "C1");
  const auto at = std::ranges::find(first.dictionary, "13");
  ASSERT_NE(at, first.dictionary.end());
  EXPECT_EQ(std::ranges::count(first.codes, static_cast<std::uint32_t>(at - first.dictionary.begin())), 17);
  EXPECT_EQ(first.dictionary.size(), 158U);
  EXPECT_EQ(blindfl::testing::category_column(frame, "C2").dictionary.size(), 382U);
  EXPECT_EQ(blindfl::testing::category_column(frame, "C9").dictionary.size(), 3U);
  for (const NumericColumn& column : frame.numeric) {
    EXPECT_TRUE(std::ranges::all_of(column.values, [](double v) { return v >= 0 && v < 1000; })) << column.name;
  }
}

TEST(LibsvmReader, GivesTheFileInTablesThatAreNoLarger) {
  const ScratchFile file("1 1:5\n\n-1 3:1 4:2\n0\n2 7:1\n");
  LibsvmReader reader(file.path());
  const auto first = reader.next({.rows = 2, .entries = 100});
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->rows(), 2U);
  EXPECT_EQ(first->cols(), 4U) << "as many as were seen";
  EXPECT_EQ(reader.where(1), file.path().string() + ": line 3");
  const auto second = reader.next({.rows = 9, .entries = 1});
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->labels(), (std::vector<double>{0, 2}));
  EXPECT_EQ(second->cols(), 7U);
  EXPECT_FALSE(reader.next({.rows = 9, .entries = 1}).has_value());
}

TEST(LibsvmReader, EndsATableAfterTheRowThatFillsIt) {
  const ScratchFile file("1 1:5 2:5\n1 1:5 2:5\n1 1:5 2:5\n");
  LibsvmReader reader(file.path(), {.cols = 9});
  EXPECT_EQ(reader.next({.rows = 9, .entries = 3})->rows(), 2U);
  EXPECT_EQ(reader.next({.rows = 9, .entries = 3})->rows(), 1U);
  EXPECT_THROW((void)reader.next({.rows = 0, .entries = 3}), InvalidArgument);
}

}  // namespace
}  // namespace blindfl::data::libsvm_test
