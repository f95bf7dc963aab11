#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/base/number_text.h"
#include "blindfl/run/markup.h"

// Charts as SVG inside HTML. Colours come from the page's style sheet, by class, so that a page can be light or dark.

namespace blindfl::run {

struct ChartPoint {
  double x = 0;
  double y = 0;  ///< a line has a gap where it is not finite
};

/// How a series of points is drawn.
enum class LineStyle {
  kLine,
  kBehind,  ///< a thin line in a lighter colour, without a place in the legend: what another line smooths
  kMarked,  ///< a line with a dot at each point
  kDots,    ///< dots alone
};

/// One line of a chart.
struct ChartLine {
  std::string name;
  std::vector<ChartPoint> points;
  LineStyle style = LineStyle::kLine;
  std::optional<std::size_t> colour = std::nullopt;  ///< one of four; else by its place among the chart's lines
};

/// A line has no more points on paper: where there are more, each is the mean of several that follow each other.
constexpr std::size_t kMostChartPoints = 300;
/// There are no more dots on paper: where there are more, some of them are drawn, at equal distances in their order.
constexpr std::size_t kMostChartDots = 600;

/// A vertical line at a place that matters.
struct ChartMark {
  double x = 0;
  std::string label;
};

struct LineChart {
  std::string title;  ///< for those who cannot see it, too
  std::string x_label;
  std::vector<ChartLine> lines;
  Unit y_unit = Unit::kNumber;
  /// Both axes from 0 to 1, and a dotted diagonal: for ROC and calibration.
  bool unit_square = false;
  /// Both axes alike, and a dotted diagonal: for predictions against what they should be.
  bool equal_axes = false;
  std::optional<ChartMark> mark = std::nullopt;
};

/// Points of a line, at most `most`. Each is the mean of as many, but perhaps for the last; those that are not finite
/// do not count. Throws InvalidArgument if `most` is 0.
[[nodiscard]] std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points, std::size_t most);

/// Each point with the mean of those around it, up to `reach` before and as many after; those that are not finite do
/// not count, and stay as they are.
[[nodiscard]] std::vector<ChartPoint> smoothed(const std::vector<ChartPoint>& points, std::size_t reach);

/// At most `most` of the points, at equal distances in their order: the same ones every time.
/// Throws InvalidArgument if `most` is 0.
[[nodiscard]] std::vector<ChartPoint> sampled(const std::vector<ChartPoint>& points, std::size_t most);

/// Draws a chart; one without a finite point says so in words.
void draw(Markup& out, const LineChart& chart);

/// A row of horizontal bars, one for each of `BarChart::series`.
struct BarRow {
  std::string label;
  std::vector<std::pair<double, std::string>> bars;  ///< length, and the words at its end
};

struct BarChart {
  std::string title;
  std::vector<std::string> series;  ///< their names; with one, no legend
  std::vector<BarRow> rows;
};

/// Draws bars below their labels, all to one scale. Lengths that are negative or not finite are drawn as none.
void draw(Markup& out, const BarChart& chart);

/// How many values are in each of some intervals of equal width.
struct Histogram {
  std::string title;
  std::string x_label;
  double low = 0;
  double high = 1;
  std::vector<double> counts;
};

/// At most `most` intervals of equal width. Values among the lowest or highest hundredth that lie far out count in the
/// first and the last one. Values that are not finite are left out.
/// Throws InvalidArgument if `most` is 0.
[[nodiscard]] Histogram histogram_of(std::vector<double> values, std::size_t most);

/// Draws a histogram; one without a value says so in words.
void draw(Markup& out, const Histogram& histogram);

}  // namespace blindfl::run
