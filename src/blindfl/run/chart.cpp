#include "blindfl/run/chart.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>

#include "blindfl/base/error.h"
#include "blindfl/run/axis.h"

namespace blindfl::run {

namespace {

void say_nothing_to_show(Markup& out, const std::string& title) {
  out.element("p", title + ": there is nothing to show.", {{"class", "note"}});
}

/// A line as it is on paper.
struct DrawnLine {
  ChartLine line;
  std::size_t colour = 0;
};

std::vector<DrawnLine> drawn_lines(const LineChart& chart) {
  std::vector<DrawnLine> lines;
  lines.reserve(chart.lines.size());
  for (const ChartLine& line : chart.lines) {
    ChartLine less = line;
    less.points =
        line.style == LineStyle::kDots ? sampled(line.points, kMostChartDots) : thinned(line.points, kMostChartPoints);
    lines.push_back({std::move(less), line.colour.value_or(lines.size())});
  }
  return lines;
}

/// All dots in one element: a file of a thousand of them stays small.
void draw_dots(Markup& out, const Plot& plot, const DrawnLine& drawn) {
  std::string path;
  for (const ChartPoint& point : drawn.line.points) {
    if (!std::isfinite(point.y)) continue;
    path.append("M").append(coordinate(plot.at_x(point.x))).append(",").append(coordinate(plot.at_y(point.y)));
    path.append("h0");
  }
  if (path.empty()) return;
  constexpr std::size_t kFew = 60;
  const bool few = drawn.line.points.size() <= kFew;
  out.leaf("path", {{"class", colour_class(few ? "dots" : "dots many", drawn.colour)}, {"d", path}});
}

/// A line in pieces, parted by what is not finite. A piece of one point would not be seen, and gets a dot.
void draw_line(Markup& out, const Plot& plot, const DrawnLine& drawn) {
  std::string points;
  std::size_t count = 0;
  std::vector<ChartPoint> alone;
  const std::string kind = drawn.line.style == LineStyle::kBehind ? "line behind" : "line";
  const auto finish = [&](const ChartPoint* last) {
    if (count > 1) out.leaf("polyline", {{"class", colour_class(kind, drawn.colour)}, {"points", points}});
    if (count == 1 && last != nullptr) alone.push_back(*last);
    points.clear();
    count = 0;
  };
  const ChartPoint* last = nullptr;
  for (const ChartPoint& point : drawn.line.points) {
    if (!std::isfinite(point.y)) {
      finish(last);
      continue;
    }
    points.append(points.empty() ? "" : " ").append(coordinate(plot.at_x(point.x)));
    points.append(",").append(coordinate(plot.at_y(point.y)));
    ++count;
    last = &point;
  }
  finish(last);
  if (drawn.line.style == LineStyle::kMarked) {
    draw_dots(out, plot, drawn);
  } else if (!alone.empty()) {
    draw_dots(out, plot, {{drawn.line.name, alone, LineStyle::kDots}, drawn.colour});
  }
}

void draw_diagonal(Markup& out, const Plot& plot) {
  const double low = std::max(plot.x().low, plot.y().low);
  const double high = std::min(plot.x().high, plot.y().high);
  out.leaf("line", {{"class", "diagonal"},
                    {"x1", coordinate(plot.at_x(low))},
                    {"y1", coordinate(plot.at_y(low))},
                    {"x2", coordinate(plot.at_x(high))},
                    {"y2", coordinate(plot.at_y(high))}});
}

void draw_mark(Markup& out, const Plot& plot, const ChartMark& mark) {
  const double at = plot.at_x(mark.x);
  const bool before = at + width_of(mark.label) + 6 > plot.right();
  out.leaf("line", {{"class", "mark"},
                    {"x1", coordinate(at)},
                    {"y1", coordinate(plot.top())},
                    {"x2", coordinate(at)},
                    {"y2", coordinate(plot.bottom())}});
  out.element("text", mark.label,
              {{"class", "tick"},
               {"x", coordinate(before ? at - 5 : at + 5)},
               {"y", coordinate(plot.top() + 10)},
               {"text-anchor", before ? "end" : "start"}});
}

Plot plot_of(const LineChart& chart, Range x, Range y) {
  if (chart.unit_square) return {{0, 1}, {0, 1}, chart.y_unit};
  if (chart.equal_axes) {
    x.add(y.low);
    x.add(y.high);
    x = x.widened().rounded();
    return {x, x, chart.y_unit};
  }
  if (chart.mark) x.add(chart.mark->x);
  return {x.widened(), y.widened().rounded(), chart.y_unit};
}

}  // namespace

std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points, std::size_t most) {
  require<InvalidArgument>(most > 0, "chart: a line needs points");
  if (points.size() <= most) return points;
  const std::size_t each = (points.size() + most - 1) / most;
  std::vector<ChartPoint> means;
  for (auto rest = std::span(points); !rest.empty();) {
    const auto group = rest.first(std::min(each, rest.size()));
    rest = rest.subspan(group.size());
    ChartPoint mean;
    double finite = 0;
    for (const ChartPoint& point : group) {
      mean.x += point.x / static_cast<double>(group.size());
      if (!std::isfinite(point.y)) continue;
      finite += 1;
      mean.y += (point.y - mean.y) / finite;
    }
    if (finite == 0) mean.y = std::numeric_limits<double>::quiet_NaN();
    means.push_back(mean);
  }
  return means;
}

std::vector<ChartPoint> smoothed(const std::vector<ChartPoint>& points, std::size_t reach) {
  std::vector<ChartPoint> means;
  means.reserve(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    ChartPoint mean{points[i].x, 0};
    const std::size_t last = std::min(points.size() - 1, i + reach);
    double finite = 0;
    for (std::size_t j = i - std::min(reach, i); j <= last; ++j) {
      if (!std::isfinite(points[j].y)) continue;
      finite += 1;
      mean.y += (points[j].y - mean.y) / finite;
    }
    if (!std::isfinite(points[i].y)) mean.y = points[i].y;
    means.push_back(mean);
  }
  return means;
}

std::vector<ChartPoint> sampled(const std::vector<ChartPoint>& points, std::size_t most) {
  require<InvalidArgument>(most > 0, "chart: a sample needs points");
  if (points.size() <= most) return points;
  std::vector<ChartPoint> some;
  some.reserve(most);
  for (std::size_t i = 0; i < most; ++i) some.push_back(points[i * points.size() / most]);
  return some;
}

void draw(Markup& out, const LineChart& chart) {
  const std::vector<DrawnLine> lines = drawn_lines(chart);
  Range x;
  Range y;
  std::vector<std::pair<std::string, std::size_t>> names;
  for (const DrawnLine& drawn : lines) {
    for (const ChartPoint& point : drawn.line.points) {
      if (!std::isfinite(point.y)) continue;
      x.add(point.x);
      y.add(point.y);
    }
    if (drawn.line.style != LineStyle::kBehind) names.emplace_back(drawn.line.name, drawn.colour);
  }
  if (x.is_empty()) {
    say_nothing_to_show(out, chart.title);
    return;
  }
  const Plot plot = plot_of(chart, x, y);
  open_svg(out, chart.title, Plot::height());
  plot.draw_axes(out, chart.x_label);
  if (chart.unit_square || chart.equal_axes) draw_diagonal(out, plot);
  if (chart.mark) draw_mark(out, plot, *chart.mark);
  for (const DrawnLine& drawn : lines) {
    if (drawn.line.style == LineStyle::kDots) {
      draw_dots(out, plot, drawn);
    } else {
      draw_line(out, plot, drawn);
    }
  }
  out.close();
  draw_legend(out, names);
}

Histogram histogram_of(std::vector<double> values, std::size_t most) {
  require<InvalidArgument>(most > 0, "chart: a histogram needs intervals");
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  Histogram histogram;
  if (values.empty()) return histogram;
  std::ranges::sort(values);
  // What lies far out would leave one interval for all the rest.
  const std::size_t aside = values.size() / 100;
  const double low = values[aside];
  const double high = values[values.size() - 1 - aside];
  Range range{low, high};
  for (const double end : {values.front(), values.back()}) {
    if (end >= low - (high - low) && end <= high + (high - low)) range.add(end);
  }
  range = range.widened();
  histogram.low = range.low;
  histogram.high = range.high;
  histogram.counts.assign(std::min(most, values.size()), 0);
  const auto last = static_cast<double>(histogram.counts.size() - 1);
  for (const double value : values) {
    const double at = std::floor(range.share(value) * static_cast<double>(histogram.counts.size()));
    histogram.counts[static_cast<std::size_t>(std::clamp(at, 0.0, last))] += 1;
  }
  return histogram;
}

void draw(Markup& out, const Histogram& histogram) {
  if (histogram.counts.empty()) {
    say_nothing_to_show(out, histogram.title);
    return;
  }
  Range y{0, 1};
  for (const double count : histogram.counts) y.add(count);
  const Plot plot(Range{histogram.low, histogram.high}.widened(), y.rounded(), Unit::kNumber);
  open_svg(out, histogram.title, Plot::height());
  plot.draw_axes(out, histogram.x_label);
  const double width = (plot.right() - plot.left()) / static_cast<double>(histogram.counts.size());
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    const double top = plot.at_y(histogram.counts[i]);
    out.leaf("rect", {{"class", colour_class("bar", 0)},
                      {"x", coordinate(plot.left() + width * static_cast<double>(i) + 0.5)},
                      {"y", coordinate(top)},
                      {"width", coordinate(std::max(width - 1, 0.5))},
                      {"height", coordinate(plot.bottom() - top)}});
  }
  out.close();
}

}  // namespace blindfl::run
