#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>

#include "blindfl/base/error.h"
#include "blindfl/lab/paper/cell_run.h"
#include "testing/scratch_folder.h"

namespace blindfl::lab::paper::cells_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

/// An exhibit of cells that count how often they were measured.
struct Counted {
  explicit Counted(std::size_t cells) : times(cells, 0) {
    exhibit.name = "table:counted";
    for (std::size_t i = 0; i < cells; ++i) {
      Cell cell;
      cell.name = "cell " + std::to_string(i);
      cell.settings.set("number", i).set("steps", "5");
      cell.measure = [this, i] {
        ++times[i];
        CellResult result;
        result.numbers["seconds"] = 0.25 + static_cast<double>(i);
        return result;
      };
      exhibit.cells.push_back(std::move(cell));
    }
  }

  Exhibit exhibit;
  std::vector<int> times;
};

std::vector<Measured> measured(const Exhibit& exhibit, const std::filesystem::path& folder,
                               std::string* said = nullptr) {
  CellCache cache(folder);
  std::ostringstream out;
  std::vector<Measured> all = measure_all(std::span(&exhibit, 1), cache, out, /*terminal=*/false);
  if (said != nullptr) *said = out.str();
  return all;
}

TEST(Cells, AreMeasuredOnceAndThenKept) {
  const testing::ScratchFolder folder;
  Counted counted(3);
  (void)measured(counted.exhibit, folder.path());
  std::string said;
  const auto again = measured(counted.exhibit, folder.path(), &said);
  EXPECT_EQ(counted.times, (std::vector<int>{1, 1, 1}));
  ASSERT_THAT(again[0].results, SizeIs(3));
  EXPECT_EQ(again[0].results[2].number("seconds"), 2.25);
  EXPECT_THAT(said, HasSubstr("cell 3 of 3  cell 2  was measured before"));
}

TEST(Cells, OfOtherSettingsAreOtherCells) {
  Settings five;
  five.set("data set", "a9a").set("steps", std::size_t{5});
  Settings six;
  six.set("data set", "a9a").set("steps", std::size_t{6});
  Settings moved;
  moved.set("data set", "a9as").set("teps", std::size_t{5});
  EXPECT_NE(five.digest(), six.digest());
  EXPECT_NE(five.digest(), moved.digest());
  EXPECT_THROW(five.set("steps", "7"), InvalidArgument);

  const testing::ScratchFolder folder;
  CellCache cache(folder.path());
  cache.keep(five, {.numbers = {{"seconds", 1}}});
  EXPECT_TRUE(cache.find(five).has_value());
  EXPECT_FALSE(cache.find(six).has_value());
}

TEST(Cells, GoOnAfterAKillWhereTheyWere) {
  const testing::ScratchFolder folder;
  Counted counted(3);
  // What ends a process in the second cell: not one of our errors, so that nothing catches it.
  counted.exhibit.cells[1].measure = []() -> CellResult { throw std::logic_error("killed"); };
  EXPECT_THROW((void)measured(counted.exhibit, folder.path()), std::logic_error);
  Counted after(3);
  (void)measured(after.exhibit, folder.path());
  EXPECT_EQ(after.times, (std::vector<int>{0, 1, 1}));
}

TEST(Cells, OfADamagedFileAreMeasuredAgainWithAMessage) {
  const testing::ScratchFolder folder;
  Counted counted(2);
  (void)measured(counted.exhibit, folder.path());
  const CellCache cache(folder.path());
  const std::filesystem::path path = cache.path_of(counted.exhibit.cells[0].settings);
  const std::string whole = testing::content_of(path);
  const std::string other_settings = [&] {
    std::string text = whole;
    return text.replace(text.find("\"steps\":\"5\""), 11, "\"steps\":\"6\"");
  }();
  const std::string no_number = [&] {
    std::string text = whole;
    return text.replace(text.find("0.25"), 4, "\"\"");
  }();
  int times = 1;
  for (const std::string& text : {whole.substr(0, whole.size() / 2), std::string(), other_settings, no_number}) {
    std::ofstream(path) << text;
    std::string said;
    const auto again = measured(counted.exhibit, folder.path(), &said);
    EXPECT_EQ(counted.times, (std::vector<int>{++times, 1})) << text;
    EXPECT_THAT(said, AllOf(HasSubstr(path.string()), HasSubstr("it is measured again")));
    EXPECT_EQ(again[0].results[0].number("seconds"), 0.25);
  }
}

TEST(Cells, KeepNumbersWordsAndSeriesAsTheyAre) {
  const testing::ScratchFolder folder;
  CellCache cache(folder.path());
  Settings settings;
  settings.set("what", "quotes \" and \\ and \n");
  CellResult result;
  result.numbers = {{"third", 1.0 / 3}, {"none", std::numeric_limits<double>::quiet_NaN()}, {"large", 1e300}};
  result.words = {{"way", "A's features: exchanged"}};
  result.series = {{"loss", {{1, 0.5}, {2, 1.0 / 7}}}, {"empty", {}}};
  cache.keep(settings, result);
  const auto found = cache.find(settings);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->number("third"), 1.0 / 3);
  EXPECT_EQ(found->number("large"), 1e300);
  EXPECT_TRUE(std::isnan(found->number("none")));
  EXPECT_TRUE(std::isnan(found->number("never measured")));
  EXPECT_EQ(found->words, result.words);
  ASSERT_THAT(found->line("loss"), SizeIs(2));
  EXPECT_EQ(found->line("loss")[1].y, 1.0 / 7);
  EXPECT_THAT(found->line("empty"), IsEmpty());
  EXPECT_THAT(cache.complaints(), IsEmpty());
}

TEST(Cells, ThatRefuseAreKeptAndThoseThatFailAreNot) {
  const testing::ScratchFolder folder;
  Counted counted(2);
  int refused = 0;
  int failed = 0;
  counted.exhibit.cells[0].measure = [&] {
    ++refused;
    return CellResult{.refused = "needs 160 GB"};
  };
  counted.exhibit.cells[1].measure = [&]() -> CellResult {
    ++failed;
    fail<DataError>("a9a.xz is not there");
  };
  std::string said;
  for (int i = 0; i < 2; ++i) {
    const auto all = measured(counted.exhibit, folder.path(), &said);
    EXPECT_EQ(all[0].results[0].refused, "needs 160 GB");
    EXPECT_EQ(all[0].results[1].refused, "a9a.xz is not there");
  }
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(failed, 2);
  EXPECT_THAT(said, HasSubstr("not measured: a9a.xz is not there"));
}

TEST(CellProgress, SaysHowManyCellsAndHowMuchTimeIsLeft) {
  const testing::ScratchFolder folder;
  Counted counted(3);
  std::string said;
  (void)measured(counted.exhibit, folder.path(), &said);
  EXPECT_THAT(said, AllOf(HasSubstr("cell 1 of 3  cell 0  "), HasSubstr("s so far, about 1 s left"),
                          HasSubstr("cell 3 of 3  cell 2  "), Not(HasSubstr("\r"))));
  std::ostringstream out;
  const std::vector<const Cell*> cells{&counted.exhibit.cells[0], &counted.exhibit.cells[1]};
  CellProgress terminal(out, /*terminal=*/true, cells);
  terminal.begin(*cells[0]);
  EXPECT_THAT(out.str(), AllOf(HasSubstr("\r\x1b[Kcell 1 of 2  cell 0"), Not(HasSubstr("\n"))));
  terminal.end(*cells[0], {}, /*was_kept=*/true);
  EXPECT_THAT(out.str(), HasSubstr("cell 1 of 2  cell 0  was measured before\n"));
}

}  // namespace
}  // namespace blindfl::lab::paper::cells_test
