#include <array>
#include <cmath>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/base/number_text.h"
#include "blindfl/base/text.h"
#include "blindfl/lab/paper/data_sets.h"
#include "blindfl/lab/paper/step_cells.h"
#include "blindfl/lab/paper/study.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/run/metrics.h"

namespace blindfl::lab::paper {

namespace {

/// A perceptron on connect-4: time of a mini-batch, and the accuracy on test rows after training.
CellResult train_on_connect4(const std::vector<std::size_t>& hidden, std::size_t epochs, const StudyOptions& options) {
  const PaperSet& set = paper_set("connect-4");
  const PaperRows all = read_paper_rows(set, options.data);
  const data::Table train = some_rows(all.train, most_rows(options));
  const data::Table test = some_rows(all.test, most_rows(options) / 2);
  const std::array<const data::Table*, 2> tables{&train, &test};
  TwoPartyModel model = model_of(set, tables);
  model.hidden = hidden;
  model.training.epochs = epochs;
  const TwoPartyTraining training = train_two_parties(model, cut_rows(set, train), cut_rows(set, test));
  CellResult result = numbers_of(training);
  result.numbers["accuracy"] = run::class_accuracy(nn::to_vector(training.scores), set.outputs, test.labels());
  return result;
}

Cell connect4_cell(const std::vector<std::size_t>& hidden, const StudyOptions& options) {
  const std::size_t epochs = options.quick ? 1 : 10;
  std::string widths;
  for (const std::size_t width : hidden) {
    if (!widths.empty()) widths += '-';
    widths += std::to_string(width);
  }
  Cell cell;
  cell.name = "connect-4 MLP, hidden layers " + widths;
  const PaperSet& set = paper_set("connect-4");
  const std::string missing = missing_file(set, options.data);
  cell.settings = settings_of("connect-4 training", options);
  cell.settings.set("hidden", widths).set("epochs", epochs).set("rows", rows_words(options));
  cell.expected_seconds = static_cast<double>(hidden.front()) / 8 * static_cast<double>(options.quick ? 1 : 80);
  cell.measure = [=] {
    require<DataError>(missing.empty(), missing, " is not in the folder that BLINDFL_DATA names");
    return train_on_connect4(hidden, epochs, options);
  };
  return cell;
}

struct Scaling {
  std::string counts;                       ///< "width of the first layer"
  std::vector<std::size_t> values;          ///< of it
  std::vector<std::string> paper_time;      ///< relative to the first, as printed
  std::vector<std::string> paper_accuracy;  ///< as printed
};

double times_first(std::span<const CellResult> results, std::size_t i) {
  return results[i].number("seconds") / results.front().number("seconds");
}

Shown show_scaling(const Scaling& scaling, std::span<const CellResult> results, const std::string& claim,
                   const std::string& quick_words) {
  Shown shown;
  ShownTable table{.words = 1,
                   .headings = {scaling.counts, "time of a mini-batch", "times the first", "the paper's", "bytes",
                                "accuracy", "the paper's"},
                   .rows = {}};
  run::ChartLine ours{.name = "measured here", .points = {}, .style = run::LineStyle::kMarked};
  run::ChartLine papers{.name = "the paper", .points = {}, .style = run::LineStyle::kMarked};
  for (std::size_t i = 0; i < results.size(); ++i) {
    const CellResult& result = results[i];
    const bool there = result.measured() && results.front().measured();
    table.rows.push_back({std::to_string(scaling.values[i]), there ? seconds_text(result.number("seconds")) : "-",
                          there ? fixed_text(times_first(results, i), 2) : "-", scaling.paper_time[i],
                          there ? bytes_text(result.number("bytes")) : "-",
                          there ? fixed_text(100 * result.number("accuracy"), 1) + "%" : "-",
                          scaling.paper_accuracy[i]});
    const auto x = static_cast<double>(scaling.values[i]);
    if (there) ours.points.push_back({x, times_first(results, i)});
    papers.points.push_back({x, std::stod(scaling.paper_time[i])});
  }
  const std::string measured = ours.points.size() == results.size()
                                   ? fixed_text(times_first(results, results.size() - 1), 2) + " times"
                                   : "not measured";
  shown.tables.push_back(std::move(table));
  shown.lines.push_back({.title = "Time of a mini-batch, times the first",
                         .x_label = scaling.counts,
                         .lines = {std::move(ours), std::move(papers)}});
  shown.sentence = "From " + std::to_string(scaling.values.front()) + " to " + std::to_string(scaling.values.back()) +
                   ", a mini-batch takes " + measured + " as long here, and " + scaling.paper_time.back() +
                   " times in the paper." + quick_words;
  std::string accuracies;
  for (const CellResult& result : results) {
    const std::string accuracy = result.measured() ? fixed_text(100 * result.number("accuracy"), 1) + "%" : "-";
    append(accuracies, ", ", accuracy);
  }
  std::string papers_accuracies;
  for (const std::string& accuracy : scaling.paper_accuracy) append(papers_accuracies, ", ", accuracy);
  shown.claims = {{claim, measured}, {"Accuracy by " + scaling.counts + ": " + papers_accuracies, accuracies}};
  return shown;
}

std::string words_for_size(const StudyOptions& options) {
  if (!options.quick) return {};
  return " Accuracies are those of one epoch on " + rows_words(options) + " rows, the paper's of ten epochs on all.";
}

}  // namespace

Exhibit width_table(const StudyOptions& options) {
  const Scaling scaling{.counts = "width of the first layer",
                        .values = {32, 64, 128, 256},
                        .paper_time = {"1.00", "1.91", "3.94", "8.06"},
                        .paper_accuracy = {"79.8%", "80.6%", "81.8%", "82.3%"}};
  Exhibit table{
      .name = "table:width", .title = "Scalability by the width of the source layer", .cells = {}, .show = {}};
  for (const std::size_t width : scaling.values) table.cells.push_back(connect4_cell({width, 16}, options));
  table.show = [scaling, options](std::span<const CellResult> results) {
    return show_scaling(scaling, results, "Time grows almost in proportion to the width: 8.06 times from 32 to 256",
                        words_for_size(options));
  };
  return table;
}

Exhibit depth_table(const StudyOptions& options) {
  const Scaling scaling{.counts = "layers",
                        .values = {3, 4, 5, 6},
                        .paper_time = {"1.00", "1.01", "1.02", "1.02"},
                        .paper_accuracy = {"80.6%", "80.9%", "81.0%", "80.6%"}};
  Exhibit table{.name = "table:depth", .title = "Scalability by the number of layers", .cells = {}, .show = {}};
  for (const std::size_t layers : scaling.values) {
    std::vector<std::size_t> hidden{64};
    hidden.insert(hidden.end(), layers - scaling.values.front(), 32);
    hidden.push_back(16);
    table.cells.push_back(connect4_cell(hidden, options));
  }
  table.show = [scaling, options](std::span<const CellResult> results) {
    return show_scaling(scaling, results, "Time hardly depends on the number of layers: 1.02 times from 3 to 6",
                        words_for_size(options));
  };
  return table;
}

}  // namespace blindfl::lab::paper
