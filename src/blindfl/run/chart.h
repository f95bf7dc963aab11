#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/run/markup.h"

// Charts as SVG inside HTML. Colours come from the page's style sheet, by class, so that a page can be light or dark.

namespace blindfl::run {

struct ChartPoint {
  double x = 0;
  double y = 0;  ///< a line has a gap where it is not finite
};

/// One line of a chart.
struct ChartLine {
  std::string name;
  std::vector<ChartPoint> points;
};

/// A line has no more points on paper: where there are more, each is the mean of several that follow each other.
constexpr std::size_t kMostChartPoints = 300;

struct LineChart {
  std::string title;  ///< for those who cannot see it, too
  std::string x_label;
  std::vector<ChartLine> lines;
  /// Both axes from 0 to 1, and a dotted diagonal: for ROC and calibration.
  bool unit_square = false;
  bool markers = false;  ///< a dot at each point
};

/// Points of a line, at most `most`. Each is the mean of as many, but perhaps for the last; those that are not finite
/// do not count. Throws InvalidArgument if `most` is 0.
[[nodiscard]] std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points, std::size_t most);

/// At most `most` round numbers at equal distances, from at least `low` to at most `high`.
/// Throws InvalidArgument unless both are finite, `low` < `high` and `most` > 1.
[[nodiscard]] std::vector<double> round_ticks(double low, double high, std::size_t most);

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

/// Draws bars, all to one scale. Lengths that are negative or not finite are drawn as none.
void draw(Markup& out, const BarChart& chart);

}  // namespace blindfl::run
