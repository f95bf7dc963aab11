#include "blindfl/lab/paper/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <span>
#include <string>

#include "blindfl/lab/paper/csv.h"
#include "run/well_formed.h"

namespace blindfl::lab::paper::page_test {
namespace {

using blindfl::testing::Page;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

Shown show_sample(std::span<const CellResult> results) {
  Shown shown;
  shown.sentence = "The paper had 1 < 2 & we have " + std::to_string(results.size()) + ".";
  shown.tables.push_back({.words = 1, .headings = {"set", "time"}, .rows = {{"a9a | w8a", "18 ms"}, {"higgs", "2 s"}}});
  run::ChartLine line{.name = "federated", .points = results[0].line("loss")};
  run::ChartLine other{.name = "joined <b>", .points = {{1, 2}, {2, 1}}};
  shown.lines.push_back({.title = "Loss", .x_label = "mini-batch", .lines = {line, other}});
  shown.bars.push_back({.title = "Bars", .series = {"ours", "theirs"}, .rows = {{"a9a", {{1, "1 s"}, {2, "2 s"}}}}});
  shown.lines.push_back({.title = "Nothing", .x_label = "x", .lines = {}});
  shown.notes = {"A note."};
  shown.claims = {{"It is faster", "3 times"}};
  return shown;
}

struct Sample {
  Sample() {
    exhibit.name = "table:sample";
    exhibit.title = "A sample";
    exhibit.show = show_sample;
    exhibit.quick = true;
    for (const char* name : {"first, \"quoted\"", "second"}) {
      Cell cell;
      cell.name = name;
      cell.settings.set("data set", name);
      exhibit.cells.push_back(cell);
    }
    CellResult good;
    good.numbers = {{"seconds", 0.1}, {"bytes", std::numeric_limits<double>::quiet_NaN()}};
    good.words = {{"way", "lattice"}};
    good.series = {{"loss", {{1, 0.75}, {2, 0.5}}}};
    measured.push_back({&exhibit, {good, {.refused = "needs 160 GB of memory"}}});
  }
  Exhibit exhibit;
  std::vector<Measured> measured;
};

const PageFacts kFacts{.machine = "a <machine>",
                       .data = "real rows",
                       .size = "quick",
                       .command = "blindfl_lab paper --out FOLDER",
                       .options = " --quick --whole table:other",
                       .release = "1.2.3"};

TEST(PaperPage, IsWellFormedAndLoadsNothing) {
  const Sample sample;
  const std::string html = page_html(kFacts, sample.measured);
  const Page page(html);
  EXPECT_TRUE(page.is_well_formed());
  EXPECT_THAT(page.named("script"), IsEmpty());
  EXPECT_THAT(page.named("img"), IsEmpty());
  EXPECT_THAT(page.named("link"), IsEmpty());
  EXPECT_THAT(html, HasSubstr("default-src &#39;none&#39;"));
  EXPECT_THAT(html, AllOf(HasSubstr("a &lt;machine&gt;"), HasSubstr("1 &lt; 2 &amp; we have 2."), HasSubstr("A note."),
                          HasSubstr("Command: blindfl_lab paper --out FOLDER --quick --only table:sample")));
  EXPECT_THAT(page.named("figure"), SizeIs(3));
}

TEST(PaperPage, ShowsWhyACellWasNotMeasured) {
  const Sample sample;
  EXPECT_THAT(page_html(kFacts, sample.measured), HasSubstr("<li>second: needs 160 GB of memory</li>"));
  EXPECT_THAT(page_markdown(kFacts, sample.measured), HasSubstr("- second: needs 160 GB of memory\n"));
}

TEST(PaperPage, IsAlsoMarkdownWithTheClaimsAndTheirCommand) {
  const Sample sample;
  const std::string text = page_markdown(kFacts, sample.measured);
  EXPECT_THAT(text, StartsWith("# The paper, measured\n"));
  EXPECT_THAT(text, HasSubstr("Written by `blindfl_lab paper --out FOLDER --quick --whole table:other`, "));
  EXPECT_THAT(text, AllOf(HasSubstr("\n## A sample\n\n`blindfl_lab paper --out FOLDER --quick --only table:sample`\n"),
                          HasSubstr("| the paper | measured here |\n|---|---|\n| It is faster | 3 times |\n"),
                          HasSubstr("| a9a \\| w8a | 18 ms |\n"), Not(HasSubstr("\n\n\n"))));
}

TEST(PaperPage, SaysOfWhatIsWholeInAQuickRunHowToMeasureItWhole) {
  Sample sample;
  sample.exhibit.quick = false;
  EXPECT_THAT(page_html(kFacts, sample.measured),
              HasSubstr("Command: blindfl_lab paper --out FOLDER --only table:sample"));
}

TEST(PaperDrawings, AreFilesOfTheirOwnWithStyleAndLegend) {
  const Sample sample;
  const std::vector<std::string> files = drawings_of(sample.measured[0]);
  ASSERT_THAT(files, SizeIs(2));  // there is nothing to draw in the third
  for (const std::string& file : files) {
    EXPECT_THAT(file, AllOf(StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\""), HasSubstr("<style>")));
    const Page page(file);
    EXPECT_TRUE(page.is_well_formed());
    const auto texts = page.named("text");
    // Nothing lies below the drawing's own box.
    const std::string box = page.named("svg").front().attributes.at("viewBox");
    const double height = std::stod(box.substr(box.rfind(' ') + 1));
    for (const auto& text : texts) EXPECT_LT(std::stod(text.attributes.at("y")), height);
  }
  EXPECT_THAT(files[0], HasSubstr(">joined &lt;b&gt;</text>"));
  EXPECT_THAT(files[1], HasSubstr(">theirs</text>"));
}

TEST(PaperCsv, HasALineForEachCellAndQuotesWhatNeedsIt) {
  const Sample sample;
  EXPECT_EQ(cells_csv(sample.measured[0]),
            "cell,data set,bytes,seconds,way,not measured because\n"
            "\"first, \"\"quoted\"\"\",\"first, \"\"quoted\"\"\",,0.1,lattice,\n"
            "second,second,,,,needs 160 GB of memory\n");
  EXPECT_EQ(series_csv(sample.measured[0]),
            "cell,series,x,y\n\"first, \"\"quoted\"\"\",loss,1,0.75\n\"first, \"\"quoted\"\"\",loss,2,0.5\n");
}

}  // namespace
}  // namespace blindfl::lab::paper::page_test
