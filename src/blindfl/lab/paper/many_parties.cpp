#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "blindfl/base/number_text.h"
#include "blindfl/base/text.h"
#include "blindfl/lab/paper/data_sets.h"
#include "blindfl/lab/paper/several_parties.h"
#include "blindfl/lab/paper/study.h"

namespace blindfl::lab::paper {

namespace {

constexpr std::array<std::size_t, 4> kCountsOfAs{1, 2, 3, 5};

/// Each A has columns like those of a9a's A, and B those of its B: more A's are more features.
CellResult measure_parties(std::size_t count, std::size_t steps, const StudyOptions& options) {
  constexpr std::size_t kBatches = 6;
  const PaperSet& set = paper_set("a9a");
  std::vector<data::Dataset> of_as;
  data::Dataset of_b;
  TwoPartyModel model;
  for (std::size_t i = 0; i < count; ++i) {
    const data::Table rows = generated_rows(set, kBatches * 128, options.seed + i);
    TwoPartyRows cut = cut_rows(set, rows);
    of_as.push_back(std::move(cut.a));
    if (i > 0) continue;
    of_b = std::move(cut.b);
    model = model_of(set, std::array<const data::Table*, 1>{&rows});
  }
  model.training.epochs = steps / kBatches + 2;
  const SeveralPartiesCost cost = train_several_parties(model, of_as, of_b, steps);
  CellResult result;
  result.numbers = {
      {"seconds", cost.seconds}, {"bytes", static_cast<double>(cost.bytes)}, {"seconds_before", cost.seconds_before}};
  return result;
}

Shown show_parties(std::span<const CellResult> results) {
  Shown shown;
  ShownTable table{
      .words = 1,
      .headings = {"A's", "time of a mini-batch", "times the first", "bytes", "times the first", "once before"},
      .rows = {}};
  run::ChartLine time{.name = "time", .points = {}, .style = run::LineStyle::kMarked};
  run::ChartLine bytes{.name = "bytes", .points = {}, .style = run::LineStyle::kMarked};
  const auto times = [&](std::size_t i, const char* number) {
    return results[i].number(number) / results.front().number(number);
  };
  const auto times_text = [&](std::size_t i, const char* number) {
    return std::isfinite(times(i, number)) ? fixed_text(times(i, number), 2) : std::string("-");
  };
  for (std::size_t i = 0; i < results.size(); ++i) {
    const CellResult& result = results[i];
    const bool there = result.measured();
    table.rows.push_back({std::to_string(kCountsOfAs[i]), there ? seconds_text(result.number("seconds")) : "-",
                          times_text(i, "seconds"), there ? bytes_text(result.number("bytes")) : "-",
                          times_text(i, "bytes"), there ? seconds_text(result.number("seconds_before")) : "-"});
    if (!std::isfinite(times(i, "seconds"))) continue;
    const auto x = static_cast<double>(kCountsOfAs[i]);
    time.points.push_back({x, times(i, "seconds")});
    bytes.points.push_back({x, times(i, "bytes")});
  }
  const std::size_t last = results.size() - 1;
  const std::string measured = std::isfinite(times(last, "seconds"))
                                   ? "a mini-batch takes " + times_text(last, "seconds") + " times the seconds and " +
                                         times_text(last, "bytes") + " times the bytes of one A with " +
                                         std::to_string(kCountsOfAs.back())
                                   : std::string("not measured");
  shown.tables.push_back(std::move(table));
  shown.lines.push_back({.title = "A mini-batch by the number of A's, times one A's",
                         .x_label = "A's",
                         .lines = {std::move(time), std::move(bytes)}});
  shown.sentence = "The paper says how its layers work with several A's, and measures none. Here: " + measured + ".";
  shown.notes = {
      "Logistic regression under an open top, generated rows: each A has 62 features and B 61, of which 7 are 1, so "
      "that each A more brings features of its own. B works with all A's at the same time, but all parties are threads "
      "of one machine, whose cores they share. Bytes are those of all links together. The last column has keys, the "
      "agreement on masks, initial weights and the first step."};
  shown.claims = {{"Source layers work with more than one A", measured}};
  return shown;
}

}  // namespace

Exhibit parties_table(const StudyOptions& options) {
  Exhibit table{.name = "table:parties", .title = "Cost by the number of A's", .cells = {}, .show = show_parties};
  const std::size_t steps = options.quick ? 10 : 60;
  for (const std::size_t count : kCountsOfAs) {
    Cell cell;
    cell.name = (count == 1 ? std::string("1 A") : std::to_string(count) + " A's") + ", LR";
    cell.settings = settings_of("number of A's", options);
    cell.settings.set("A's", count).set("steps", steps);
    cell.expected_seconds = static_cast<double>(count);
    cell.measure = [=] { return measure_parties(count, steps, options); };
    table.cells.push_back(std::move(cell));
  }
  return table;
}

}  // namespace blindfl::lab::paper
