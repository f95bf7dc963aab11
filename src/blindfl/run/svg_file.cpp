#include "blindfl/run/svg_file.h"

#include <string_view>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/run/axis.h"
#include "blindfl/run/report_style.h"

namespace blindfl::run {

namespace {

using LegendNames = std::vector<std::pair<std::string, std::size_t>>;

constexpr double kLegendLine = 18;
constexpr double kLegendKey = 12;
constexpr std::string_view kEnd = "</svg>";

/// The height in `viewBox="0 0 WIDTH HEIGHT"`, and where it is written.
struct WrittenHeight {
  double height = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};

WrittenHeight height_in(std::string_view drawing) {
  const std::string_view begin = "viewBox=\"0 0 ";
  std::size_t at = drawing.find(begin);
  require<InvalidArgument>(at != std::string_view::npos, "drawing: it has no size");
  at = drawing.find(' ', at + begin.size()) + 1;
  const std::size_t end = drawing.find('"', at);
  return {.height = std::stod(std::string(drawing.substr(at, end - at))), .begin = at, .end = end};
}

std::string legend_of(const LegendNames& names, double top) {
  Markup out;
  for (const auto& [name, colour] : names) {
    out.leaf("rect", {{"class", colour_class("bar", colour)},
                      {"x", "0"},
                      {"y", coordinate(top)},
                      {"width", coordinate(kLegendKey)},
                      {"height", coordinate(kLegendKey)}});
    out.element("text", name, {{"x", coordinate(kLegendKey + 6)}, {"y", coordinate(top + kLegendKey - 1)}});
    top += kLegendLine;
  }
  return out.take();
}

template <class Chart>
std::string file_of(const Chart& chart, const LegendNames& names) {
  Markup out;
  draw(out, chart);
  std::string drawing = out.take();
  const std::size_t end = drawing.find(kEnd);
  if (!drawing.starts_with("<svg") || end == std::string::npos) return {};  // words that say there is nothing
  drawing.resize(end);
  const LegendNames shown = names.size() < 2 ? LegendNames{} : names;
  const WrittenHeight written = height_in(drawing);
  drawing += legend_of(shown, written.height + 4);
  drawing.append(kEnd).append("\n");
  const double height = written.height + kLegendLine * static_cast<double>(shown.size());
  drawing.replace(written.begin, written.end - written.begin, coordinate(height));
  drawing.insert(drawing.find('>') + 1, "<style>" + std::string(kReportStyle) + "</style>");
  return drawing;
}

}  // namespace

std::string svg_file(const LineChart& chart) {
  LegendNames names;
  for (std::size_t i = 0; i < chart.lines.size(); ++i) {
    const ChartLine& line = chart.lines[i];
    if (line.style != LineStyle::kBehind) names.emplace_back(line.name, line.colour.value_or(i));
  }
  return file_of(chart, names);
}

std::string svg_file(const BarChart& chart) {
  LegendNames names;
  for (const std::string& name : chart.series) names.emplace_back(name, names.size());
  return file_of(chart, names);
}

}  // namespace blindfl::run
