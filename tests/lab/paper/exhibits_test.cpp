// Every table and figure, from its first measurement to its place on the page, with few rows.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/lab/paper/cell_run.h"
#include "blindfl/lab/paper/page.h"
#include "blindfl/lab/paper/study.h"
#include "testing/real_data.h"
#include "testing/scratch_folder.h"

namespace blindfl::lab::paper::exhibits_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kNotHere = "not measured in this test";

/// Cells that are measured: the first alone, or as many as belong to it.
std::size_t measured_cells(const std::string& exhibit) {
  if (exhibit == "table:efficiency") return 5;    // all ways of a9a
  if (exhibit == "figure:derivatives") return 2;  // split learning, and ours
  return 1;
}

TEST(Exhibits, AreMeasuredAndShownEachByItsName) {
  for (const char* file : {"a9a.xz", "a9a.t.xz", "connect-4.xz", "adult.data.xz", "adult.test.xz"}) {
    BLINDFL_NEEDS_DATA(file);
  }
  torch::set_num_threads(1);
  const StudyOptions options{.data = testing::real_data(""), .quick = true, .quick_rows = 512, .release = "test"};
  std::vector<Exhibit> exhibits = all_exhibits(options);
  for (Exhibit& exhibit : exhibits) {
    for (std::size_t i = measured_cells(exhibit.name); i < exhibit.cells.size(); ++i) {
      // An error is not kept: the same cell may be another table's first.
      exhibit.cells[i].measure = []() -> CellResult { fail<DataError>(kNotHere); };
    }
  }
  const testing::ScratchFolder folder;
  CellCache cache(folder.path());
  std::ostringstream said;
  const std::vector<Measured> measured = measure_all(exhibits, cache, said, /*terminal=*/false);
  std::cout << said.str();
  for (const Measured& each : measured) {
    for (std::size_t i = 0; i < measured_cells(each.exhibit->name); ++i) {
      const CellResult& result = each.results.at(i);
      EXPECT_THAT(result.refused, IsEmpty()) << each.exhibit->cells[i].name;
      EXPECT_TRUE(!result.numbers.empty() || !result.series.empty()) << each.exhibit->cells[i].name;
      for (const auto& [name, value] : result.numbers) EXPECT_TRUE(std::isfinite(value)) << name;
    }
    // A row of figures: what was not measured has a dash.
    const Shown shown = each.exhibit->show(each.results);
    ASSERT_FALSE(shown.tables.empty()) << each.exhibit->name;
    ASSERT_FALSE(shown.tables.front().rows.empty()) << each.exhibit->name;
    const std::vector<std::string>& first = shown.tables.front().rows.front();
    EXPECT_GT(first.size(), shown.tables.front().words);
    EXPECT_EQ(
        std::ranges::count(first.begin() + static_cast<std::ptrdiff_t>(shown.tables.front().words), first.end(), "-"),
        0)
        << each.exhibit->name;
    EXPECT_FALSE(drawings_of(each).empty() && each.exhibit->name != "table:efficiency") << each.exhibit->name;
  }
  const PageFacts facts{.machine = "m", .data = "d", .size = "s", .command = "blindfl_lab paper", .release = "test"};
  const std::string page = page_html(facts, measured);
  for (const Exhibit& exhibit : exhibits) {
    EXPECT_THAT(page, HasSubstr("<h2 id=\"" + exhibit.name + "\">"));
    EXPECT_THAT(page, HasSubstr("Command: blindfl_lab paper --only " + exhibit.name));
  }
}

}  // namespace
}  // namespace blindfl::lab::paper::exhibits_test
