#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "blindfl/base/number_text.h"
#include "blindfl/base/text.h"
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

/// Times that differ by less are taken for the same.
constexpr double kAsLong = 1.25;

struct Growth {
  std::string as_long{};  ///< the number of features up to which a mini-batch takes as long as with the fewest
  std::string longer{};   ///< "4.07 times as long with 10,000,000 (42 ms, then 172 ms)"
};

Growth growth_of(std::span<const CellResult> results) {
  Growth growth;
  const double first = results.front().number("seconds");
  std::vector<std::string> longer;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].measured()) continue;
    const double seconds = results[i].number("seconds");
    if (longer.empty() && seconds <= kAsLong * first) {
      growth.as_long = count_text(kFeatureCounts[i]);
    } else {
      longer.push_back(fixed_text(seconds / first, 2) + " times as long with " + count_text(kFeatureCounts[i]) + " (" +
                       seconds_text(first) + ", then " + seconds_text(seconds) + ")");
    }
  }
  if (!longer.empty()) growth.longer = listed(longer);
  return growth;
}

std::string times_in_words(std::span<const CellResult> results) {
  if (!results.front().measured()) return "not measured";
  const Growth growth = growth_of(results);
  std::string words = "as long (within " + fixed_text(100 * (kAsLong - 1), 0) + "%) from " +
                      count_text(kFeatureCounts.front()) + " to " + growth.as_long + " features";
  if (growth.as_long == count_text(kFeatureCounts.front())) words.clear();
  if (!growth.longer.empty()) append(words, ", and ", growth.longer);
  return words.empty() ? "not measured" : words;
}

std::string bytes_in_words(std::span<const CellResult> results) {
  double least = HUGE_VAL;
  double most = 0;
  for (const CellResult& result : results) {
    if (!result.measured()) continue;
    least = std::min(least, result.number("bytes"));
    most = std::max(most, result.number("bytes"));
  }
  if (most == 0) return "not measured";
  if (bytes_text(least) == bytes_text(most)) return bytes_text(most) + ", whatever the number of features";
  return bytes_text(least) + " to " + bytes_text(most);
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
  const std::string measured = times_in_words(results);
  const std::string travels = bytes_in_words(results);
  shown.lines.push_back({.title = "Time of a mini-batch by number of features",
                         .x_label = "features, as a power of ten",
                         .lines = {std::move(line)},
                         .y_unit = Unit::kSeconds});
  shown.sentence =
      "The paper's time of a mini-batch depends on the values of a row that are not 0, and not on the number of "
      "features: 0.038 s with 1,000,000 of them, 0.034 s with 10,000,000. Time here: " +
      measured + ". Bytes that travel: " + travels + ".";
  shown.notes = {
      "Logistic regression on generated rows of 14 features that are 1, half of them each party's; A's weights are "
      "updated under encryption (Paillier, 2048 bits), B's products with A's share of them are made once, with the "
      "lattice scheme. The last column has this, keys, initial weights and the first step.",
      "A whole mini-batch at both parties, features of both: what updates of A's features alone take is measured apart "
      "(docs/appendix/benchmarks.md, many features)."};
  shown.claims = {{"Time does not depend on the number of features", measured},
                  {"What travels does not depend on the number of features", travels}};
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
