#include <algorithm>
#include <cmath>
#include <string_view>

#include "blindfl/base/utf8.h"
#include "blindfl/run/axis.h"
#include "blindfl/run/chart.h"

namespace blindfl::run {

namespace {

constexpr double kBarsTop = 4;
constexpr double kLabelHeight = 17;
constexpr double kBarHeight = 14;
constexpr double kBarGap = 3;
constexpr double kRowGap = 10;
constexpr double kWordsWidth = 120;  // right of the longest bar
constexpr std::size_t kLabelCharacters = 56;

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

double height_of(const BarRow& row) {
  const auto bars = static_cast<double>(row.bars.size());
  return kLabelHeight + kBarHeight * bars + kBarGap * std::max(bars - 1, 0.0) + kRowGap;
}

void draw_row(Markup& out, const BarRow& row, double y, double longest) {
  out.element("text", shortened(row.label, kLabelCharacters), {{"x", "0"}, {"y", coordinate(y + kLabelHeight - 5)}});
  y += kLabelHeight;
  for (std::size_t i = 0; i < row.bars.size(); ++i) {
    const double width = longest > 0 ? (kChartWidth - kWordsWidth) * (length_of(row.bars[i].first) / longest) : 0;
    out.leaf("rect", {{"class", colour_class("bar", i)},
                      {"x", "0"},
                      {"y", coordinate(y)},
                      {"width", coordinate(width)},
                      {"height", coordinate(kBarHeight - 1)}});
    out.element("text", row.bars[i].second,
                {{"class", "tick"}, {"x", coordinate(width + 5)}, {"y", coordinate(y + kBarHeight - 3)}});
    y += kBarHeight + kBarGap;
  }
}

}  // namespace

void draw(Markup& out, const BarChart& chart) {
  double height = kBarsTop;
  for (const BarRow& row : chart.rows) height += height_of(row);
  open_svg(out, chart.title, height);
  double y = kBarsTop;
  const double longest = longest_of(chart);
  for (const BarRow& row : chart.rows) {
    draw_row(out, row, y, longest);
    y += height_of(row);
  }
  out.close();
  std::vector<std::pair<std::string, std::size_t>> names;
  for (const std::string& name : chart.series) names.emplace_back(name, names.size());
  draw_legend(out, names);
}

}  // namespace blindfl::run
