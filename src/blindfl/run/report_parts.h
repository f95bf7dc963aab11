#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "blindfl/run/markup.h"
#include "blindfl/run/report.h"

// The parts of a report's page, from top to bottom; those without anything to show write nothing.

namespace blindfl::run {

/// The head of a page that needs nothing else: the style sheet of reports, and a policy that loads and runs nothing.
void write_head(Markup& out, std::string_view title);

/// A table, row by row, with headings or without. Columns after the first `words` hold numbers.
class Table {
 public:
  Table(Markup& out, std::size_t words, const std::vector<std::string_view>& headings);
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  void row(const std::vector<std::string>& cells, std::string_view kind = "");
  void end();

 private:
  void cell(std::string_view tag, std::size_t column, std::string_view text);

  Markup& out_;
  std::size_t words_;
};

/// A drawing with its title above.
template <class Chart>
void figure(Markup& out, const Chart& chart) {
  out.open("figure").element("figcaption", chart.title);
  draw(out, chart);
  out.close();
}

/// A number on a tile, with its name, and below what it is compared with.
void tile(Markup& out, std::string_view name, std::string_view value, std::string_view beside = "");

/// "AUC", "log loss", "rows a second": what people call a measure.
[[nodiscard]] std::string words_for(std::string_view measure);
/// A measure's value in its unit: "0.9124", "1.5 MB", "350 ms".
[[nodiscard]] std::string value_text(std::string_view measure, double value);
[[nodiscard]] Unit unit_of(std::string_view measure);

/// Curves with more than one value, in charts; of quality or of the work.
void write_quality(Markup& out, const RunReport& report);
void write_work(Markup& out, const RunReport& report);
/// Curves of one value, or of one that never changes: they are numbers, and stand on tiles.
void write_single_values(Markup& out, const RunReport& report);
void write_classes(Markup& out, const ConfusionMatrix& all);
void write_plan(Markup& out, const std::vector<PlanFact>& plan);
void write_traffic(Markup& out, const RunReport& report);
void write_phases(Markup& out, const RunReport& report);
void write_costs(Markup& out, const RunReport& report);

}  // namespace blindfl::run
