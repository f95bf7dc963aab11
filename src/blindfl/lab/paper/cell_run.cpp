#include "blindfl/lab/paper/cell_run.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <ostream>

#include "blindfl/base/error.h"
#include "blindfl/base/number_text.h"

namespace blindfl::lab::paper {

namespace {

/// What a cell finds, refusals included, is kept. What it throws may be different the next time.
CellResult measured_and_kept(const Cell& cell, const CellCache& cache) {
  CellResult result;
  try {
    result = cell.measure();
  } catch (const Error& error) {
    result.refused = error.what();
    return result;
  } catch (const std::bad_alloc&) {
    result.refused = "the memory of this machine is not enough";
    return result;
  }
  cache.keep(cell.settings, result);
  return result;
}

}  // namespace

CellProgress::CellProgress(std::ostream& out, bool terminal, std::span<const Cell* const> cells)
    : out_(out), terminal_(terminal), cells_(cells.size()), start_(Clock::now()), began_(start_) {
  for (const Cell* cell : cells) expected_left_ += cell->expected_seconds;
}

double CellProgress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

std::string CellProgress::times() const {
  std::string text = seconds_text(std::max(1.0, std::round(seconds()))) + " so far";
  if (expected_left_ > 0 && expected_done_ > 0) {
    text +=
        ", about " + seconds_text(std::max(1.0, std::round(expected_left_ * measuring_ / expected_done_))) + " left";
  }
  return text;
}

void CellProgress::begin(const Cell& cell) {
  began_ = Clock::now();
  if (!terminal_) return;
  out_ << "\r\x1b[Kcell " << number_ + 1 << " of " << cells_ << "  " << cell.name << "  (" << times() << ")"
       << std::flush;
}

void CellProgress::end(const Cell& cell, const CellResult& result, bool was_kept) {
  ++number_;
  expected_left_ = std::max(0.0, expected_left_ - cell.expected_seconds);
  const double took = std::chrono::duration<double>(Clock::now() - began_).count();
  if (!was_kept) {
    expected_done_ += cell.expected_seconds;
    measuring_ += took;
  }
  if (terminal_) out_ << "\r\x1b[K";
  out_ << "cell " << number_ << " of " << cells_ << "  " << cell.name << "  ";
  if (was_kept) {
    out_ << "was measured before";
  } else if (result.measured()) {
    out_ << seconds_text(took) << "  (" << times() << ")";
  } else {
    out_ << "not measured: " << result.refused;
  }
  out_ << "\n" << std::flush;
}

std::vector<Measured> measure_all(std::span<const Exhibit> exhibits, CellCache& cache, std::ostream& out,
                                  bool terminal) {
  std::vector<const Cell*> cells;
  for (const Exhibit& exhibit : exhibits) {
    for (const Cell& cell : exhibit.cells) cells.push_back(&cell);
  }
  CellProgress progress(out, terminal, cells);
  std::vector<Measured> all;
  std::size_t complaints = cache.complaints().size();
  for (const Exhibit& exhibit : exhibits) {
    Measured& measured = all.emplace_back(Measured{&exhibit, {}});
    for (const Cell& cell : exhibit.cells) {
      progress.begin(cell);
      std::optional<CellResult> result = cache.find(cell.settings);
      for (; complaints < cache.complaints().size(); ++complaints) out << cache.complaints()[complaints] << "\n";
      const bool was_kept = result.has_value();
      if (!was_kept) result = measured_and_kept(cell, cache);
      progress.end(cell, *result, was_kept);
      measured.results.push_back(std::move(*result));
    }
  }
  return all;
}

}  // namespace blindfl::lab::paper
