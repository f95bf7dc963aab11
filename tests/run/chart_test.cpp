#include "blindfl/run/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <string>

#include "blindfl/base/error.h"
#include "run/well_formed.h"

namespace blindfl::run {
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
    LineChart chart{.title = "t", .x_label = "x", .lines = {{"a", {}}}, .markers = true};
    for (const double y : values) {
      chart.lines.front().points.push_back({static_cast<double>(chart.lines.front().points.size()), y});
    }
    const Page page = drawn(chart);
    ASSERT_TRUE(page.is_well_formed());
    const auto dots = page.named("circle");
    EXPECT_THAT(dots, SizeIs(values.size()));
    for (const PageElement& dot : dots) {
      const double x = std::stod(dot.attributes.at("cx"));
      const double y = std::stod(dot.attributes.at("cy"));
      EXPECT_TRUE(x >= 58 && x <= 440 && y >= 12 && y <= 228) << x << " " << y;
    }
  }
}

TEST(LineChart, HasGapsWhereNothingWasMeasured) {
  const Page page = drawn(LineChart{
      .title = "t", .x_label = "x", .lines = {{"a", {{0, 1}, {1, 2}, {2, kNan}, {3, 1}, {4, kNan}, {5, 2}, {6, 3}}}}});
  EXPECT_THAT(page.named("polyline"), SizeIs(2));
  EXPECT_THAT(page.named("circle"), SizeIs(1)) << "a point alone is a dot";
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

TEST(BarChart, DrawsToOneScale) {
  const Page page = drawn(BarChart{.title = "t",
                                   .series = {"sent", "received"},
                                   .rows = {{"a", {{100, "100 B"}, {50, "50 B"}}}, {"b", {{0, "0 B"}, {25, "25 B"}}}}});
  ASSERT_TRUE(page.is_well_formed());
  std::vector<double> widths;
  for (const PageElement& bar : page.named("rect")) {
    if (bar.around.size() == 1) widths.push_back(std::stod(bar.attributes.at("width")));
  }
  EXPECT_THAT(widths, ElementsAre(192, 96, 0, 48));
}

TEST(BarChart, DrawsNothingForWhatIsNoLength) {
  const Page page = drawn(BarChart{.title = "t", .series = {"s"}, .rows = {{"a", {{-5, "x"}}}, {"b", {{kNan, "y"}}}}});
  ASSERT_TRUE(page.is_well_formed());
  for (const PageElement& bar : page.named("rect")) EXPECT_EQ(bar.attributes.at("width"), "0.0");
  EXPECT_TRUE(drawn(BarChart{.title = "t", .series = {}, .rows = {}}).is_well_formed());
}

TEST(BarChart, ShortensLongLabelsByWholeCharacters) {
  std::string label;
  for (int i = 0; i < 40; ++i) label += "\xC3\xA4";
  const Page page = drawn(BarChart{.title = "t", .series = {"s"}, .rows = {{label, {{1, "1"}}}}});
  const std::string text = page.named("text").front().text;
  EXPECT_EQ(text, label.substr(0, 36) + "\xE2\x80\xA6");
}

}  // namespace
}  // namespace blindfl::run
