#pragma once

#include <string>

#include "blindfl/lab/paper/exhibit.h"

namespace blindfl::lab::paper {

/// A line for each cell: its settings, numbers and words, and why it was not measured. In full digits, for programs.
[[nodiscard]] std::string cells_csv(const Measured& measured);
/// A line for each point of all series: cell, series, x, y. Empty if there are none.
[[nodiscard]] std::string series_csv(const Measured& measured);

}  // namespace blindfl::lab::paper
