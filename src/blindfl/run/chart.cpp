#include "blindfl/run/chart.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>

#include "blindfl/base/error.h"
#include "blindfl/base/utf8.h"
#include "blindfl/run/number_text.h"

namespace blindfl::run {

namespace {

// Of the drawing, in its own units: a phone shows them at about two thirds of a pixel each.
constexpr double kWidth = 460;
constexpr double kHeight = 270;
constexpr double kLeft = 58;
constexpr double kRight = 20;
constexpr double kTop = 12;
constexpr double kBottom = 42;
constexpr double kBarHeight = 14;
constexpr double kBarGap = 3;
constexpr double kRowGap = 10;
constexpr double kBarLeft = 156;
constexpr double kBarRight = 112;
constexpr std::size_t kMostTicks = 8;
constexpr std::size_t kLabelCharacters = 19;
constexpr int kTickDigits = 6;
// Of a step: what rounding may have moved a range's end by.
constexpr double kTickTolerance = 1e-9;
// Of the numbers themselves: differences below that are rounding.
constexpr double kFinest = 1e-12;
constexpr std::size_t kColours = 4;
constexpr std::string_view kSvg = "http://www.w3.org/2000/svg";

std::string coordinate(double x) {
  return fixed_text(x, 1);
}

std::string colour_class(std::string_view kind, std::size_t series) {
  return std::string(kind) + " c" + std::to_string(series % kColours);
}

/// At most so many characters, the last a sign that there were more.
std::string shortened(std::string_view text, std::size_t most) {
  std::string kept;
  std::string before_last;
  for (std::size_t count = 0; !text.empty(); ++count) {
    if (count == most) {
      append_utf8(before_last, U'\x2026');
      return before_last;
    }
    if (count + 1 == most) before_last = kept;
    const std::size_t length = std::max<std::size_t>(utf8_length(text), 1);
    kept += text.substr(0, length);
    text.remove_prefix(length);
  }
  return kept;
}

/// The smallest of 1, 2 and 5 times a power of ten that divides a range into fewer than `most` parts.
double round_step(double low, double high, std::size_t most) {
  const double rough = (high / 2 - low / 2) / static_cast<double>(most - 1) * 2;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double x) {
    low = std::min(low, x);
    high = std::max(high, x);
  }
  [[nodiscard]] bool is_empty() const { return low > high; }
  /// Wide enough to be divided, whatever was added.
  [[nodiscard]] Range widened() const {
    const double size = std::max(std::abs(low), std::abs(high));
    // Halved first: the difference of two huge numbers would be infinite.
    if (high / 2 - low / 2 > std::max(size * kFinest, std::numeric_limits<double>::min() / kFinest)) return *this;
    const double room = std::max(size * 0.05, 0.5);
    constexpr double kMost = std::numeric_limits<double>::max();
    return {std::max(low - room, -kMost), std::min(high + room, kMost)};
  }
};

/// Where the numbers of a chart are on paper.
class Plot {
 public:
  Plot(const LineChart& chart, const std::vector<ChartLine>& lines) {
    for (const ChartLine& line : lines) {
      for (const ChartPoint& point : line.points) {
        if (!std::isfinite(point.y)) continue;
        x_.add(point.x);
        y_.add(point.y);
      }
    }
    if (chart.unit_square) x_ = y_ = {0, 1};
  }

  [[nodiscard]] bool is_empty() const { return x_.is_empty(); }
  /// Makes room around what there is: upwards and downwards to round numbers.
  void widen() {
    x_ = x_.widened();
    y_ = y_.widened();
    const double step = round_step(y_.low, y_.high, kMostTicks);
    for (const double end : {std::floor(y_.low / step) * step, std::ceil(y_.high / step) * step}) {
      if (std::isfinite(end)) y_.add(end);
    }
  }
  [[nodiscard]] const Range& x() const { return x_; }
  [[nodiscard]] const Range& y() const { return y_; }
  [[nodiscard]] std::string at_x(double x) const {
    return coordinate(kLeft + (kWidth - kLeft - kRight) * share(x, x_));
  }
  [[nodiscard]] std::string at_y(double y) const {
    return coordinate(kHeight - kBottom - (kHeight - kTop - kBottom) * share(y, y_));
  }

 private:
  // Halved first, here too.
  static double share(double value, const Range& range) {
    return std::clamp((value / 2 - range.low / 2) / (range.high / 2 - range.low / 2), 0.0, 1.0);
  }

  Range x_;
  Range y_;
};

void open_svg(Markup& out, std::string_view title, double height) {
  const std::string box = "0 0 " + coordinate(kWidth) + " " + coordinate(height);
  out.open("svg", {{"xmlns", kSvg}, {"viewBox", box}, {"role", "img"}, {"aria-label", title}});
  out.element("title", title);
}

/// Beside the drawing, not in it: there it wraps like other words.
void draw_legend(Markup& out, const std::vector<std::string>& names) {
  out.open("p", {{"class", "legend"}});
  for (std::size_t i = 0; i < names.size(); ++i) {
    out.open("span");
    out.open("svg", {{"xmlns", kSvg}, {"viewBox", "0 0 12 12"}, {"class", "key"}, {"aria-hidden", "true"}});
    out.leaf("rect", {{"class", colour_class("bar", i)}, {"width", "12"}, {"height", "12"}});
    out.close().text(names[i]).close();
  }
  out.close();
}

void draw_axes(Markup& out, const Plot& plot, std::string_view x_label) {
  const std::string left = coordinate(kLeft);
  const std::string right = coordinate(kWidth - kRight);
  const std::string bottom = coordinate(kHeight - kBottom);
  for (const double y : round_ticks(plot.y().low, plot.y().high, kMostTicks)) {
    const std::string at = plot.at_y(y);
    out.leaf("line", {{"class", "grid"}, {"x1", left}, {"y1", at}, {"x2", right}, {"y2", at}});
    out.element("text", decimal_text(y, kTickDigits),
                {{"class", "tick"}, {"x", coordinate(kLeft - 6)}, {"y", at}, {"dy", "4"}, {"text-anchor", "end"}});
  }
  for (const double x : round_ticks(plot.x().low, plot.x().high, kMostTicks)) {
    const std::string at = plot.at_x(x);
    out.leaf("line", {{"class", "grid"}, {"x1", at}, {"y1", coordinate(kTop)}, {"x2", at}, {"y2", bottom}});
    out.element("text", decimal_text(x, kTickDigits),
                {{"class", "tick"}, {"x", at}, {"y", coordinate(kHeight - kBottom + 16)}, {"text-anchor", "middle"}});
  }
  out.leaf("line", {{"class", "axis"}, {"x1", left}, {"y1", bottom}, {"x2", right}, {"y2", bottom}});
  out.leaf("line", {{"class", "axis"}, {"x1", left}, {"y1", coordinate(kTop)}, {"x2", left}, {"y2", bottom}});
  out.element(
      "text", shortened(x_label, 3 * kLabelCharacters),
      {{"x", coordinate((kLeft + kWidth - kRight) / 2)}, {"y", coordinate(kHeight - 6)}, {"text-anchor", "middle"}});
}

/// A line in pieces, parted by what is not finite. A piece of one point would not be seen, and gets a dot.
void draw_line(Markup& out, const Plot& plot, const ChartLine& line, std::size_t series, bool markers) {
  std::string points;
  std::size_t count = 0;
  const auto dot = [&](const ChartPoint& point) {
    out.leaf(
        "circle",
        {{"class", colour_class("dot", series)}, {"cx", plot.at_x(point.x)}, {"cy", plot.at_y(point.y)}, {"r", "3"}});
  };
  const auto finish = [&](const ChartPoint* last) {
    if (count > 1) out.leaf("polyline", {{"class", colour_class("line", series)}, {"points", points}});
    if (count == 1 && !markers && last != nullptr) dot(*last);
    points.clear();
    count = 0;
  };
  const ChartPoint* last = nullptr;
  for (const ChartPoint& point : line.points) {
    if (!std::isfinite(point.y)) {
      finish(last);
      continue;
    }
    points.append(points.empty() ? "" : " ").append(plot.at_x(point.x)).append(",").append(plot.at_y(point.y));
    ++count;
    last = &point;
    if (markers) dot(point);
  }
  finish(last);
}

double length_of(double bar) {
  return std::isfinite(bar) ? std::max(bar, 0.0) : 0;
}

double longest_of(const BarChart& chart) {
  double longest = 0;
  for (const BarRow& row : chart.rows) {
    for (const auto& bar : row.bars) longest = std::max(longest, length_of(bar.first));
  }
  return longest;
}

/// Draws a row from `y` on, and returns where the next begins.
double draw_row(Markup& out, const BarRow& row, double y, double longest) {
  const auto bars = static_cast<double>(row.bars.size());
  const double height = kBarHeight * bars + kBarGap * std::max(bars - 1, 0.0);
  out.element("text", shortened(row.label, kLabelCharacters),
              {{"x", coordinate(kBarLeft - 8)}, {"y", coordinate(y + height / 2 + 4)}, {"text-anchor", "end"}});
  for (std::size_t i = 0; i < row.bars.size(); ++i) {
    const double full = kWidth - kBarLeft - kBarRight;
    const double width = longest > 0 ? full * (length_of(row.bars[i].first) / longest) : 0;
    out.leaf("rect", {{"class", colour_class("bar", i)},
                      {"x", coordinate(kBarLeft)},
                      {"y", coordinate(y)},
                      {"width", coordinate(width)},
                      {"height", coordinate(kBarHeight - 1)}});
    out.element("text", row.bars[i].second,
                {{"class", "tick"}, {"x", coordinate(kBarLeft + width + 5)}, {"y", coordinate(y + kBarHeight - 3)}});
    y += kBarHeight + (i + 1 < row.bars.size() ? kBarGap : 0);
  }
  return y + kRowGap;
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

std::vector<double> round_ticks(double low, double high, std::size_t most) {
  require<InvalidArgument>(std::isfinite(low) && std::isfinite(high) && low < high && most > 1,
                           "chart: there is no such range");
  const double step = round_step(low, high, most);
  std::vector<double> ticks;
  // Where numbers are too close together for a double, there are none.
  for (double i = std::ceil(low / step - kTickTolerance); i * step <= high + step * kTickTolerance && i + 1 > i; ++i) {
    if (ticks.size() == most) break;
    ticks.push_back(i == 0 ? 0 : i * step);
  }
  return ticks;
}

void draw(Markup& out, const LineChart& chart) {
  std::vector<ChartLine> lines;
  std::vector<std::string> names;
  for (const ChartLine& line : chart.lines) {
    lines.push_back({line.name, thinned(line.points, kMostChartPoints)});
    names.push_back(line.name);
  }
  Plot plot(chart, lines);
  if (plot.is_empty()) {
    out.element("p", chart.title + ": there is nothing to show.", {{"class", "note"}});
    return;
  }
  plot.widen();
  open_svg(out, chart.title, kHeight);
  draw_axes(out, plot, chart.x_label);
  if (chart.unit_square) {
    out.leaf("line", {{"class", "diagonal"},
                      {"x1", plot.at_x(0)},
                      {"y1", plot.at_y(0)},
                      {"x2", plot.at_x(1)},
                      {"y2", plot.at_y(1)}});
  }
  for (std::size_t i = 0; i < lines.size(); ++i) draw_line(out, plot, lines[i], i, chart.markers);
  out.close();
  if (names.size() > 1) draw_legend(out, names);
}

void draw(Markup& out, const BarChart& chart) {
  double height = kTop;
  for (const BarRow& row : chart.rows) {
    const auto bars = static_cast<double>(row.bars.size());
    height += kBarHeight * bars + kBarGap * std::max(bars - 1, 0.0) + kRowGap;
  }
  open_svg(out, chart.title, height);
  double y = kTop;
  const double longest = longest_of(chart);
  for (const BarRow& row : chart.rows) y = draw_row(out, row, y, longest);
  out.close();
  if (chart.series.size() > 1) draw_legend(out, chart.series);
}

}  // namespace blindfl::run
