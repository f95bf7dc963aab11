#include <array>
#include <cmath>

#include "blindfl/base/number_text.h"
#include "blindfl/lab/paper/data_sets.h"
#include "blindfl/lab/paper/step_cells.h"
#include "blindfl/lab/paper/study.h"

namespace blindfl::lab::paper {

namespace {

constexpr std::array<std::size_t, 5> kFeatureCounts{1'000, 10'000, 100'000, 1'000'000, 10'000'000};

/// As avazu-app, with as many features as said.
PaperSet set_of(std::size_t features) {
  PaperSet set = paper_set("avazu-app");
  set.features = features;
  return set;
}

CellResult measure_features(std::size_t features, std::size_t steps, const StudyOptions& options) {
  constexpr std::size_t kBatches = 6;
  const PaperSet set = set_of(features);
  const data::Table rows = generated_rows(set, kBatches * 128, options.seed);
  const std::array<const data::Table*, 1> tables{&rows};
  TwoPartyModel model = model_of(set, tables);
  model.training.epochs = steps / kBatches + 2;
  model.source.update = protocol::Update::kEncrypted;
  model.source.scheme_a = "paillier";
  return numbers_of(train_two_parties(model, cut_rows(set, rows), {}, steps + 1));
}

Shown show_features(std::span<const CellResult> results) {
  Shown shown;
  ShownTable table{
      .words = 1,
      .headings = {"features", "time of a mini-batch", "times the first", "bytes", "memory", "once before"},
      .rows = {}};
  run::ChartLine line{.name = "time", .points = {}, .style = run::LineStyle::kMarked};
  for (std::size_t i = 0; i < results.size(); ++i) {
    const CellResult& result = results[i];
    const bool there = result.measured();
    table.rows.push_back({count_text(kFeatureCounts[i]), there ? seconds_text(result.number("seconds")) : "-",
                          there ? fixed_text(result.number("seconds") / results.front().number("seconds"), 2) : "-",
                          there ? bytes_text(result.number("bytes")) : "-",
                          there ? bytes_text(result.number("memory")) : "-",
                          there ? seconds_text(result.number("seconds_before")) : "-"});
    if (there) line.points.push_back({std::log10(static_cast<double>(kFeatureCounts[i])), result.number("seconds")});
  }
  shown.tables.push_back(std::move(table));
  const double times = results.back().number("seconds") / results.front().number("seconds");
  const std::string measured =
      std::isfinite(times) ? fixed_text(times, 2) + " times from 1,000 to 10,000,000 features" : "not measured";
  shown.lines.push_back({.title = "Time of a mini-batch by number of features",
                         .x_label = "features, as a power of ten",
                         .lines = {std::move(line)},
                         .y_unit = Unit::kSeconds});
  shown.sentence =
      "The paper's time of a mini-batch depends on the values of a row that are not 0, and not on the number of "
      "features: 0.038 s with 1,000,000 of them, 0.034 s with 10,000,000. Here it takes " +
      measured + ".";
  shown.notes = {
      "Logistic regression on generated rows of 14 features that are 1, half of them each party's; A's weights are "
      "updated under encryption (Paillier, 2048 bits), B's products with A's share of them are made once, with the "
      "lattice scheme. The last column has this, keys, initial weights and the first step."};
  shown.claims = {{"Time does not depend on the number of features", measured}};
  return shown;
}

}  // namespace

Exhibit features_table(const StudyOptions& options) {
  Exhibit table{
      .name = "table:features", .title = "Cost by the number of features", .cells = {}, .show = show_features};
  const std::size_t steps = options.quick ? 5 : 30;
  for (const std::size_t features : kFeatureCounts) {
    Cell cell;
    cell.name = count_text(features) + " features, LR";
    cell.settings = settings_of("number of features", options);
    cell.settings.set("features", features).set("steps", steps);
    cell.expected_seconds = features > 1'000'000 ? 40 : 5;
    cell.measure = [=] { return measure_features(features, steps, options); };
    table.cells.push_back(std::move(cell));
  }
  return table;
}

}  // namespace blindfl::lab::paper
