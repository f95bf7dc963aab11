#include "blindfl/run/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <string>

#include "blindfl/base/error.h"
#include "blindfl/run/axis.h"
#include "run/well_formed.h"

namespace blindfl::run::chart_test {
namespace {

using blindfl::testing::Page;
using blindfl::testing::PageElement;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class Chart>
Page drawn(const Chart& chart) {
  Markup out;
  draw(out, chart);
  static std::string text;
  text = out.take();
  return Page(text);
}

std::vector<ChartPoint> points_of(const PageElement& polyline) {
  std::vector<ChartPoint> points;
  std::istringstream in(polyline.attributes.at("points"));
  for (std::string pair; in >> pair;) {
    const std::size_t comma = pair.find(',');
    points.push_back({std::stod(pair.substr(0, comma)), std::stod(pair.substr(comma + 1))});
  }
  return points;
}

/// All dots of a drawing: each is a line without length, with round ends.
std::vector<ChartPoint> dots_of(const Page& page) {
  std::vector<ChartPoint> dots;
  for (const PageElement& path : page.named("path")) {
    std::istringstream in(path.attributes.at("d"));
    char letter = 0;
    ChartPoint dot;
    while (in >> letter >> dot.x >> letter >> dot.y >> letter >> letter) dots.push_back(dot);
  }
  return dots;
}

std::vector<std::string> texts_of(const Page& page) {
  std::vector<std::string> texts;
  for (const PageElement& text : page.named("text")) texts.push_back(text.text);
  return texts;
}

TEST(RoundTicks, AreRoundAndWithinTheRange) {
  EXPECT_THAT(round_ticks(0, 1, 8), ElementsAre(0, 0.2, 0.4, 0.60000000000000009, 0.8, 1));
  EXPECT_THAT(round_ticks(1, 2540, 8), ElementsAre(500, 1000, 1500, 2000, 2500));
  EXPECT_THAT(round_ticks(-0.3, 0.3, 8), SizeIs(7));
  EXPECT_THAT(round_ticks(3, 7, 3), ElementsAre(4, 6));
  for (const auto& [low, high] : std::vector<std::pair<double, double>>{{0, 5e-324},
                                                                        {-1e308, 1e308},
                                                                        {1e17, 1e17 + 100},
                                                                        {-5, -4.999},
                                                                        {0, 1e-300},
                                                                        {1, std::nextafter(1.0, 2.0)}}) {
    for (const std::size_t most : {2U, 5U, 50U}) {
      const std::vector<double> ticks = round_ticks(low, high, most);
      EXPECT_LE(ticks.size(), most);
      for (const double tick : ticks) EXPECT_TRUE(std::isfinite(tick)) << low << " " << high;
    }
  }
  EXPECT_THROW((void)round_ticks(1, 1, 5), InvalidArgument);
  EXPECT_THROW((void)round_ticks(0, kNan, 5), InvalidArgument);
  EXPECT_THROW((void)round_ticks(0, 1, 1), InvalidArgument);
}

TEST(Thinned, KeepsFewPointsAndAveragesMany) {
  const std::vector<ChartPoint> few = {{1, 5}, {2, kNan}};
  EXPECT_THAT(thinned(few, 2), SizeIs(2));
  std::vector<ChartPoint> many;
  many.reserve(1000);
  for (int i = 0; i < 1000; ++i) many.push_back({static_cast<double>(i), i % 2 == 0 ? 1.0 : 3.0});
  for (const std::size_t most : {1U, 7U, 100U, 999U}) {
    const std::vector<ChartPoint> thin = thinned(many, most);
    EXPECT_LE(thin.size(), most);
    EXPECT_GE(thin.size(), (most + 1) / 2);
  }
  const std::vector<ChartPoint> thin = thinned(many, 100);
  ASSERT_THAT(thin, SizeIs(100));
  EXPECT_DOUBLE_EQ(thin[0].x, 4.5);
  EXPECT_DOUBLE_EQ(thin[0].y, 2);
  EXPECT_THROW((void)thinned(many, 0), InvalidArgument);
}

TEST(Thinned, DoesNotLetOneNumberSpoilAMean) {
  const std::vector<ChartPoint> points = {{0, 1}, {1, kNan}, {2, kNan}, {3, std::numeric_limits<double>::infinity()}};
  const std::vector<ChartPoint> thin = thinned(points, 2);
  ASSERT_THAT(thin, SizeIs(2));
  EXPECT_DOUBLE_EQ(thin[0].y, 1);
  EXPECT_TRUE(std::isnan(thin[1].y));
}

TEST(LineChart, PutsPointsWhereTheyBelong) {
  const Page page = drawn(
      LineChart{.title = "t", .x_label = "x", .lines = {{"a", {{0, 0}, {0.5, 1}, {1, 0.5}}}}, .unit_square = true});
  ASSERT_TRUE(page.is_well_formed());
  const auto lines = page.named("polyline");
  ASSERT_THAT(lines, SizeIs(1));
  // The plot is 58 to 440 from left to right, and 12 to 228 from top to bottom.
  const std::vector<ChartPoint> points = points_of(lines.front());
  ASSERT_THAT(points, SizeIs(3));
  EXPECT_DOUBLE_EQ(points[0].x, 58);
  EXPECT_DOUBLE_EQ(points[0].y, 228);
  EXPECT_DOUBLE_EQ(points[1].x, 249);
  EXPECT_DOUBLE_EQ(points[1].y, 12);
  EXPECT_DOUBLE_EQ(points[2].x, 440);
  EXPECT_DOUBLE_EQ(points[2].y, 120);
  EXPECT_EQ(page.named("svg").front().attributes.at("viewBox"), "0 0 460.0 270.0");
  // Ticks stand beside their lines: 0.2 is a fifth of the way up.
  for (const PageElement& text : page.named("text")) {
    if (text.text == "0.2" && text.attributes.at("text-anchor") == "end") {
      EXPECT_EQ(text.attributes.at("y"), "184.8");
    }
  }
}

TEST(LineChart, StaysOnPaperWhateverTheNumbers) {
  for (const auto& values : std::vector<std::vector<double>>{
           {5}, {1e308, -1e308}, {std::numeric_limits<double>::max()}, {5e-324, 0}, {1e17, 1e17}, {-3, -3, -3}}) {
    LineChart chart{.title = "t", .x_label = "x", .lines = {{"a", {}, LineStyle::kMarked}}};
    for (const double y : values) {
      chart.lines.front().points.push_back({static_cast<double>(chart.lines.front().points.size()), y});
    }
    const Page page = drawn(chart);
    ASSERT_TRUE(page.is_well_formed());
    const std::vector<ChartPoint> dots = dots_of(page);
    EXPECT_THAT(dots, SizeIs(values.size()));
    for (const auto& [x, y] : dots) EXPECT_TRUE(x >= 58 && x <= 440 && y >= 12 && y <= 228) << x << " " << y;
  }
}

TEST(LineChart, HasGapsWhereNothingWasMeasured) {
  const Page page = drawn(LineChart{
      .title = "t", .x_label = "x", .lines = {{"a", {{0, 1}, {1, 2}, {2, kNan}, {3, 1}, {4, kNan}, {5, 2}, {6, 3}}}}});
  EXPECT_THAT(page.named("polyline"), SizeIs(2));
  EXPECT_THAT(dots_of(page), SizeIs(1)) << "a point alone is a dot";
  const Page none = drawn(LineChart{.title = "loss", .x_label = "x", .lines = {{"a", {{0, kNan}}}, {"b", {}}}});
  EXPECT_TRUE(none.named("svg").empty());
  ASSERT_FALSE(none.elements().empty());
  EXPECT_THAT(none.elements().front().text, HasSubstr("loss: there is nothing to show"));
}

TEST(LineChart, HasALegendForSeveralLinesAndFewPoints) {
  LineChart chart{.title = "t", .x_label = "x", .lines = {{"train", {}}, {"<test>", {{0, 1}, {1, 2}}}}};
  for (int i = 0; i < 10'000; ++i) chart.lines.front().points.push_back({static_cast<double>(i), std::sin(i)});
  const Page page = drawn(chart);
  const auto lines = page.named("polyline");
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_LE(points_of(lines.front()).size(), kMostChartPoints);
  const auto keys = page.named("span");
  ASSERT_THAT(keys, SizeIs(2));
  EXPECT_EQ(keys[1].text, "\n&lt;test&gt;");
  chart.lines.pop_back();
  EXPECT_TRUE(drawn(chart).named("span").empty());
}

TEST(TickText, HasTheUnitOfItsAxis) {
  EXPECT_EQ(tick_text(0.25, Unit::kNumber, 1), "0.25");
  EXPECT_EQ(tick_text(2500, Unit::kNumber, 2500), "2500");
  EXPECT_EQ(tick_text(20'000, Unit::kNumber, 20'000), "20k");
  EXPECT_EQ(tick_text(-1.5e6, Unit::kNumber, 2e6), "-1.5M");
  EXPECT_EQ(tick_text(1.5e6, Unit::kBytes, 2e6), "1.5 MB") << "not 1.5e+06";
  EXPECT_EQ(tick_text(2e5, Unit::kBytes, 2e6), "200 kB");
  EXPECT_EQ(tick_text(0.35, Unit::kSeconds, 0.8), "350 ms");
  EXPECT_EQ(tick_text(90, Unit::kSeconds, 120), "90 s") << "one unit along an axis";
}

TEST(LineChart, WritesBytesAtItsAxisAndMakesRoomForThem) {
  const Page page = drawn(LineChart{
      .title = "t", .x_label = "step", .lines = {{"sent", {{0, 0}, {30'000, 2'000'000}}}}, .y_unit = Unit::kBytes});
  const std::vector<std::string> texts = texts_of(page);
  EXPECT_THAT(texts, ::testing::IsSupersetOf({"500 kB", "1 MB", "1.5 MB", "2 MB", "10k", "20k", "30k"}));
  for (const std::string& text : texts) EXPECT_THAT(text, ::testing::Not(HasSubstr("e+")));
  // Right-aligned beside the axis, they begin on paper.
  for (const PageElement& text : page.named("text")) {
    if (text.attributes.contains("text-anchor") && text.attributes.at("text-anchor") == "end") {
      EXPECT_GE(std::stod(text.attributes.at("x")) - width_of(text.text), 0) << text.text;
    }
  }
}

TEST(LineChart, DrawsWhatIsSmoothedBehindAndOutOfTheLegend) {
  const std::vector<ChartPoint> raw = {{0, 1}, {1, 3}, {2, 1}};
  const Page page = drawn(LineChart{.title = "t",
                                    .x_label = "x",
                                    .lines = {{"", raw, LineStyle::kBehind, 0},
                                              {"train", smoothed(raw, 1), LineStyle::kLine, 0},
                                              {"test", {{1, 2}}, LineStyle::kDots, 2}},
                                    .mark = ChartMark{2, "best"}});
  const auto lines = page.named("polyline");
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(lines[0].attributes.at("class"), "line behind c0");
  EXPECT_EQ(lines[1].attributes.at("class"), "line c0");
  EXPECT_THAT(page.named("span"), SizeIs(2));
  EXPECT_THAT(dots_of(page), SizeIs(1));
  EXPECT_THAT(texts_of(page), ::testing::Contains("best"));
}

TEST(Smoothed, TakesMeansOfWhatIsAround) {
  const std::vector<ChartPoint> line = smoothed({{0, 1}, {1, 4}, {2, 1}, {3, kNan}, {4, 7}}, 1);
  ASSERT_THAT(line, SizeIs(5));
  EXPECT_DOUBLE_EQ(line[0].y, 2.5);
  EXPECT_DOUBLE_EQ(line[1].y, 2);
  EXPECT_DOUBLE_EQ(line[2].y, 2.5);
  EXPECT_TRUE(std::isnan(line[3].y));
  EXPECT_DOUBLE_EQ(line[4].y, 7);
  EXPECT_TRUE(smoothed({}, 3).empty());
}

TEST(Sampled, TakesTheSamePointsEveryTime) {
  std::vector<ChartPoint> many;
  many.reserve(1000);
  for (int i = 0; i < 1000; ++i) many.push_back({static_cast<double>(i), 0});
  const std::vector<ChartPoint> some = sampled(many, 10);
  ASSERT_THAT(some, SizeIs(10));
  for (std::size_t i = 0; i < some.size(); ++i) EXPECT_EQ(some[i].x, 100.0 * static_cast<double>(i));
  EXPECT_THAT(sampled(many, 5000), SizeIs(1000));
  EXPECT_THROW((void)sampled(many, 0), InvalidArgument);
}

TEST(Scatter, HasEqualAxesADiagonalAndFewPoints) {
  LineChart chart{.title = "t", .x_label = "actual", .lines = {{"rows", {}, LineStyle::kDots}}, .equal_axes = true};
  for (int i = 0; i < 100'000; ++i) chart.lines.front().points.push_back({i * 1e-4, i * 2e-4});
  Markup out;
  draw(out, chart);
  const std::string text = out.take();
  EXPECT_LT(text.size(), 20'000U);
  const Page page(text);
  ASSERT_TRUE(page.is_well_formed());
  EXPECT_THAT(dots_of(page), SizeIs(kMostChartDots));
  for (const PageElement& line : page.named("line")) {
    if (line.attributes.at("class") != "diagonal") continue;
    EXPECT_EQ(line.attributes.at("x1"), "58.0");
    EXPECT_EQ(line.attributes.at("y1"), "228.0");
    EXPECT_EQ(line.attributes.at("x2"), "440.0");
    EXPECT_EQ(line.attributes.at("y2"), "12.0");
  }
}

TEST(Histogram, CountsEveryValueOnce) {
  std::vector<double> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) * 0.001;
  const Histogram even = histogram_of(values, 10);
  EXPECT_DOUBLE_EQ(even.low, 0);
  EXPECT_DOUBLE_EQ(even.high, 0.999);
  EXPECT_THAT(even.counts, SizeIs(10));
  for (const double count : even.counts) EXPECT_NEAR(count, 100, 1);
  values.push_back(1e9);
  values.push_back(-1e9);
  values.push_back(kNan);
  const Histogram outliers = histogram_of(values, 10);
  EXPECT_LT(outliers.high, 2) << "one that lies far out does not squeeze all others";
  double all = 0;
  for (const double count : outliers.counts) all += count;
  EXPECT_EQ(all, 1002);
  EXPECT_TRUE(histogram_of({}, 10).counts.empty());
  EXPECT_THAT(histogram_of({5, 5, 5}, 10).counts, SizeIs(3));
  EXPECT_THAT(histogram_of({-1e308, 1e308}, 10).counts, ElementsAre(1, 1));
  EXPECT_THROW((void)histogram_of({1}, 0), InvalidArgument);
}

TEST(Histogram, IsDrawnFromTheBaseUp) {
  const Page page = drawn(Histogram{.title = "t", .x_label = "x", .low = 0, .high = 2, .counts = {1, 4}});
  ASSERT_TRUE(page.is_well_formed());
  const auto bars = page.named("rect");
  ASSERT_THAT(bars, SizeIs(2));
  EXPECT_DOUBLE_EQ(std::stod(bars[0].attributes.at("height")), 54);
  EXPECT_DOUBLE_EQ(std::stod(bars[1].attributes.at("height")), 216);
  const Page none = drawn(Histogram{.title = "residuals", .x_label = "x", .low = 0, .high = 1, .counts = {}});
  EXPECT_THAT(none.elements().front().text, HasSubstr("residuals: there is nothing to show"));
}

TEST(BarChart, DrawsToOneScale) {
  const Page page = drawn(BarChart{.title = "t",
                                   .series = {"sent", "received"},
                                   .rows = {{"a", {{100, "100 B"}, {50, "50 B"}}}, {"b", {{0, "0 B"}, {25, "25 B"}}}}});
  ASSERT_TRUE(page.is_well_formed());
  std::vector<double> widths;
  for (const PageElement& bar : page.named("rect")) {
    if (bar.around.size() == 1) widths.push_back(std::stod(bar.attributes.at("width")));
  }
  EXPECT_THAT(widths, ElementsAre(340, 170, 0, 85));
}

TEST(BarChart, DrawsNothingForWhatIsNoLength) {
  const Page page = drawn(BarChart{.title = "t", .series = {"s"}, .rows = {{"a", {{-5, "x"}}}, {"b", {{kNan, "y"}}}}});
  ASSERT_TRUE(page.is_well_formed());
  for (const PageElement& bar : page.named("rect")) EXPECT_EQ(bar.attributes.at("width"), "0.0");
  EXPECT_TRUE(drawn(BarChart{.title = "t", .series = {}, .rows = {}}).is_well_formed());
}

TEST(BarChart, ShortensLongLabelsByWholeCharacters) {
  std::string label;
  for (int i = 0; i < 80; ++i) label += "\xC3\xA4";
  const Page page = drawn(BarChart{.title = "t", .series = {"s"}, .rows = {{label, {{1, "1"}}}}});
  const std::string text = page.named("text").front().text;
  EXPECT_EQ(text, label.substr(0, 110) + "\xE2\x80\xA6");
}

}  // namespace
}  // namespace blindfl::run::chart_test
