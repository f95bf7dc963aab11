#pragma once

#include <string>

#include "blindfl/run/chart.h"

namespace blindfl::run {

/// A drawing as a file of its own, with its colours and its legend in it. Empty if there is nothing to draw.
[[nodiscard]] std::string svg_file(const LineChart& chart);
[[nodiscard]] std::string svg_file(const BarChart& chart);

}  // namespace blindfl::run
