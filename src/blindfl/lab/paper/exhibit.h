#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "blindfl/lab/paper/cell.h"

namespace blindfl::lab::paper {

/// A table as people read it. Columns after the first `words` hold numbers.
struct ShownTable {
  std::size_t words = 1;
  std::vector<std::string> headings;
  std::vector<std::vector<std::string>> rows;
};

/// Something that the paper says, and what was measured of it here.
struct Claim {
  std::string paper;
  std::string ours;
};

/// A table or figure as it stands on the page.
struct Shown {
  std::string sentence{};  ///< below it: what the paper had, and what we have
  std::vector<ShownTable> tables{};
  std::vector<run::LineChart> lines{};
  std::vector<run::BarChart> bars{};
  std::vector<std::string> notes{};
  std::vector<Claim> claims{};
};

/// A table or figure of the paper: the cells that it is made of, and how it is made of their results, which have the
/// cells' order.
struct Exhibit {
  std::string name;   ///< what `--only` takes: "table:efficiency"
  std::string title;  ///< "Table 5. Efficiency"
  std::vector<Cell> cells;
  std::function<Shown(std::span<const CellResult>)> show;
  bool quick = false;  ///< its cells are those of a quick study
};

/// An exhibit with all that was measured for it.
struct Measured {
  const Exhibit* exhibit = nullptr;
  std::vector<CellResult> results;
};

}  // namespace blindfl::lab::paper
