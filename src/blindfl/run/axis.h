#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/run/chart.h"

// What charts are drawn with: ranges of numbers, round numbers along them, and where they are on paper.

namespace blindfl::run {

/// Of the drawing, in its own units: a phone shows them at about four fifths of a pixel each.
constexpr double kChartWidth = 460;

/// At most `most` round numbers at equal distances, from at least `low` to at most `high`.
/// Throws InvalidArgument unless both are finite, `low` < `high` and `most` > 1.
[[nodiscard]] std::vector<double> round_ticks(double low, double high, std::size_t most);

/// A number beside an axis whose largest is `largest`: "0.25", "20k", "1.5 MB", "350 ms".
[[nodiscard]] std::string tick_text(double value, Unit unit, double largest);

/// About how wide a text is on paper, in the size of ticks: rather too much than too little.
[[nodiscard]] double width_of(std::string_view text);

/// A coordinate or a length, with one digit after the point.
[[nodiscard]] std::string coordinate(double x);

/// "bar c1": what the style sheet knows a series by.
[[nodiscard]] std::string colour_class(std::string_view kind, std::size_t series);

/// Opens an SVG element as wide as charts are, with its title.
void open_svg(Markup& out, std::string_view title, double height);

/// Names of series with their colours, below a drawing: there they wrap like other words. Nothing for less than two.
void draw_legend(Markup& out, const std::vector<std::pair<std::string, std::size_t>>& names);

/// From the lowest to the highest of some numbers.
struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double x);
  [[nodiscard]] bool is_empty() const { return low > high; }
  /// Wide enough to be divided, whatever was added.
  [[nodiscard]] Range widened() const;
  /// Up to round numbers on both sides.
  [[nodiscard]] Range rounded() const;
  /// 0 at the lowest, 1 at the highest, and never beyond.
  [[nodiscard]] double share(double value) const;
};

/// Two axes, and where numbers are between them.
class Plot {
 public:
  /// Ranges that can be divided.
  Plot(const Range& x, const Range& y, Unit y_unit);

  [[nodiscard]] const Range& x() const { return x_; }
  [[nodiscard]] const Range& y() const { return y_; }
  [[nodiscard]] double at_x(double x) const;
  [[nodiscard]] double at_y(double y) const;
  [[nodiscard]] double left() const { return left_; }
  [[nodiscard]] double right() const;
  [[nodiscard]] double top() const;
  [[nodiscard]] double bottom() const;
  [[nodiscard]] static double height();
  /// Grid, ticks with their numbers, and what the x axis counts.
  void draw_axes(Markup& out, std::string_view x_label) const;

 private:
  void draw_x_ticks(Markup& out) const;

  Range x_;
  Range y_;
  Unit y_unit_;
  double left_ = 0;
};

}  // namespace blindfl::run
