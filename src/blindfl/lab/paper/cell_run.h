#pragma once

#include <chrono>
#include <cstddef>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "blindfl/lab/paper/cell_cache.h"
#include "blindfl/lab/paper/exhibit.h"

namespace blindfl::lab::paper {

/// Shows how measuring goes: which cell of how many, the time so far and about what is left. One line that changes on a
/// terminal, a line for each cell elsewhere.
class CellProgress {
 public:
  /// `out` must outlive this.
  CellProgress(std::ostream& out, bool terminal, std::span<const Cell* const> cells);

  /// A cell of which nothing is known yet.
  void begin(const Cell& cell);
  void end(const Cell& cell, const CellResult& result, bool was_kept);

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] double seconds() const;
  [[nodiscard]] std::string times() const;

  std::ostream& out_;
  bool terminal_;
  std::size_t cells_ = 0;
  std::size_t number_ = 0;
  double expected_left_ = 0;
  double expected_done_ = 0;  ///< of cells that were measured in this run
  double measuring_ = 0;      ///< seconds that these took
  Clock::time_point start_;
  Clock::time_point began_;
};

/// Measures the cells of which nothing is kept, one after the other, and keeps each at once: who runs it again after a
/// kill continues where it was. An error that a cell throws is a refusal, too, which is not kept: the next run may be
/// luckier.
[[nodiscard]] std::vector<Measured> measure_all(std::span<const Exhibit> exhibits, CellCache& cache, std::ostream& out,
                                                bool terminal);

}  // namespace blindfl::lab::paper
