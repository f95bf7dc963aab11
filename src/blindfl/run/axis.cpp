#include "blindfl/run/axis.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "blindfl/base/error.h"
#include "blindfl/base/number_text.h"
#include "blindfl/base/utf8.h"

namespace blindfl::run {

namespace {

constexpr double kHeight = 270;
constexpr double kLeast = 58;  // left of the y axis
constexpr double kRight = 20;
constexpr double kTop = 12;
constexpr double kBottom = 42;
constexpr std::size_t kMostTicks = 8;
constexpr int kTickDigits = 6;
constexpr double kTickGap = 10;
// Of a step: what rounding may have moved a range's end by.
constexpr double kTickTolerance = 1e-9;
// Of the numbers themselves: differences below that are rounding.
constexpr double kFinest = 1e-12;
constexpr std::size_t kColours = 4;
constexpr std::string_view kSvg = "http://www.w3.org/2000/svg";

/// The smallest of 1, 2 and 5 times a power of ten that divides a range into fewer than `most` parts.
double round_step(double low, double high, std::size_t most) {
  const double rough = (high / 2 - low / 2) / static_cast<double>(most - 1) * 2;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

/// "20k", "1.5M": what is longer than a label should be.
std::string short_number(double value) {
  constexpr std::array<std::pair<double, std::string_view>, 3> kUnits = {{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  const double size = std::abs(value);
  if (size >= 1e4 && size < 1e12) {
    for (const auto& [unit, name] : kUnits) {
      if (size >= unit) return decimal_text(value / unit, kTickDigits).append(name);
    }
  }
  return decimal_text(value, kTickDigits);
}

std::vector<std::string> tick_texts(const std::vector<double>& ticks, Unit unit, double largest) {
  std::vector<std::string> texts;
  texts.reserve(ticks.size());
  for (const double tick : ticks) texts.push_back(tick_text(tick, unit, largest));
  return texts;
}

}  // namespace

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

std::string tick_text(double value, Unit unit, double largest) {
  switch (unit) {
    case Unit::kBytes:
      return bytes_text(value);
    case Unit::kSeconds:
      // All of an axis in one unit: minutes and seconds mixed are hard to compare.
      return largest < 1 ? short_number(value * 1e3).append(" ms") : short_number(value).append(" s");
    case Unit::kNumber:
      return short_number(value);
  }
  return "";
}

double width_of(std::string_view text) {
  // Digits of common fonts at 12 units are 6.7 to 7.4 wide.
  constexpr double kCharacter = 7.4;
  std::size_t characters = 0;
  for (; !text.empty(); ++characters) text.remove_prefix(std::max<std::size_t>(utf8_length(text), 1));
  return kCharacter * static_cast<double>(characters);
}

std::string coordinate(double x) {
  return fixed_text(x, 1);
}

std::string colour_class(std::string_view kind, std::size_t series) {
  return std::string(kind) + " c" + std::to_string(series % kColours);
}

void open_svg(Markup& out, std::string_view title, double height) {
  const std::string box = "0 0 " + coordinate(kChartWidth) + " " + coordinate(height);
  out.open("svg", {{"xmlns", kSvg}, {"viewBox", box}, {"role", "img"}, {"aria-label", title}});
  out.element("title", title);
}

void draw_legend(Markup& out, const std::vector<std::pair<std::string, std::size_t>>& names) {
  if (names.size() < 2) return;
  out.open("p", {{"class", "legend"}});
  for (const auto& [name, colour] : names) {
    out.open("span");
    out.open("svg", {{"xmlns", kSvg}, {"viewBox", "0 0 12 12"}, {"class", "key"}, {"aria-hidden", "true"}});
    out.leaf("rect", {{"class", colour_class("bar", colour)}, {"width", "12"}, {"height", "12"}});
    out.close().text(name).close();
  }
  out.close();
}

void Range::add(double x) {
  low = std::min(low, x);
  high = std::max(high, x);
}

Range Range::widened() const {
  const double size = std::max(std::abs(low), std::abs(high));
  // Halved first: the difference of two huge numbers would be infinite.
  if (high / 2 - low / 2 > std::max(size * kFinest, std::numeric_limits<double>::min() / kFinest)) return *this;
  const double room = std::max(size * 0.05, 0.5);
  constexpr double kMost = std::numeric_limits<double>::max();
  return {std::max(low - room, -kMost), std::min(high + room, kMost)};
}

Range Range::rounded() const {
  Range range = *this;
  const double step = round_step(low, high, kMostTicks);
  for (const double end : {std::floor(low / step) * step, std::ceil(high / step) * step}) {
    if (std::isfinite(end)) range.add(end);
  }
  return range;
}

double Range::share(double value) const {
  // Halved first, here too.
  return std::clamp((value / 2 - low / 2) / (high / 2 - low / 2), 0.0, 1.0);
}

Plot::Plot(const Range& x, const Range& y, Unit y_unit) : x_(x), y_(y), y_unit_(y_unit), left_(kLeast) {
  // Room for the longest number at the y axis.
  for (const std::string& text : tick_texts(round_ticks(y_.low, y_.high, kMostTicks), y_unit_, y_.high)) {
    left_ = std::max(left_, width_of(text) + kTickGap);
  }
}

double Plot::at_x(double x) const {
  return left_ + (right() - left_) * x_.share(x);
}

double Plot::at_y(double y) const {
  return bottom() - (bottom() - top()) * y_.share(y);
}

double Plot::right() const {
  return kChartWidth - kRight;
}

double Plot::top() const {
  return kTop;
}

double Plot::bottom() const {
  return kHeight - kBottom;
}

double Plot::height() {
  return kHeight;
}

void Plot::draw_x_ticks(Markup& out) const {
  std::vector<double> ticks;
  std::vector<std::string> texts;
  // As many as stand beside each other.
  for (std::size_t most = kMostTicks; most > 1; --most) {
    ticks = round_ticks(x_.low, x_.high, most);
    texts = tick_texts(ticks, Unit::kNumber, x_.high);
    double needed = 0;
    for (const std::string& text : texts) needed = std::max(needed, width_of(text) + kTickGap);
    if (ticks.size() < 2 || at_x(ticks[1]) - at_x(ticks[0]) >= needed) break;
  }
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const double at = at_x(ticks[i]);
    const double half = width_of(texts[i]) / 2;
    out.leaf("line", {{"class", "grid"},
                      {"x1", coordinate(at)},
                      {"y1", coordinate(top())},
                      {"x2", coordinate(at)},
                      {"y2", coordinate(bottom())}});
    out.element("text", texts[i],
                {{"class", "tick"},
                 {"x", coordinate(std::min(at, kChartWidth - half))},
                 {"y", coordinate(bottom() + 16)},
                 {"text-anchor", "middle"}});
  }
}

void Plot::draw_axes(Markup& out, std::string_view x_label) const {
  const std::string left = coordinate(left_);
  const std::string end = coordinate(right());
  const std::string base = coordinate(bottom());
  for (const double y : round_ticks(y_.low, y_.high, kMostTicks)) {
    const std::string at = coordinate(at_y(y));
    out.leaf("line", {{"class", "grid"}, {"x1", left}, {"y1", at}, {"x2", end}, {"y2", at}});
    out.element("text", tick_text(y, y_unit_, y_.high),
                {{"class", "tick"}, {"x", coordinate(left_ - 6)}, {"y", at}, {"dy", "4"}, {"text-anchor", "end"}});
  }
  draw_x_ticks(out);
  out.leaf("line", {{"class", "axis"}, {"x1", left}, {"y1", base}, {"x2", end}, {"y2", base}});
  out.leaf("line", {{"class", "axis"}, {"x1", left}, {"y1", coordinate(top())}, {"x2", left}, {"y2", base}});
  out.element("text", x_label,
              {{"x", coordinate((left_ + right()) / 2)}, {"y", coordinate(kHeight - 6)}, {"text-anchor", "middle"}});
}

}  // namespace blindfl::run
