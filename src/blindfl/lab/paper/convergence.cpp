#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/base/number_text.h"
#include "blindfl/base/text.h"
#include "blindfl/data/table_cuts.h"
#include "blindfl/lab/local_model.h"
#include "blindfl/lab/paper/data_sets.h"
#include "blindfl/lab/paper/deep_training.h"
#include "blindfl/lab/paper/study.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/run/metrics.h"

namespace blindfl::lab::paper {

namespace {

/// The paper's lines end within 5 % of each other, from run to run.
constexpr double kComparable = 0.01;

std::vector<run::ChartPoint> points_of(const std::vector<double>& losses) {
  std::vector<run::ChartPoint> points;
  for (std::size_t i = 0; i < losses.size(); ++i) points.push_back({static_cast<double>(i + 1), losses[i]});
  return run::thinned(points, run::kMostChartPoints);
}

/// AUC of two classes, accuracy of more.
double metric_of(const PaperSet& set, const torch::Tensor& scores, const std::vector<double>& labels) {
  return set.outputs == 1 ? run::auc(nn::to_vector(scores), labels)
                          : run::class_accuracy(nn::to_vector(scores), set.outputs, labels);
}

/// A plain model, from the same start, on the same batches.
struct LocalTraining {
  std::vector<double> losses;
  double metric = 0;
};

LocalTraining train_local(const PaperSet& set, const TwoPartyModel& m, const data::Table& train,
                          const data::Table& test, const torch::Tensor& weight, const std::vector<torch::Tensor>& top) {
  LocalModel model(train.cols(), m.hidden, m.outputs, m.activation);
  {
    const torch::NoGradGuard no_grad;
    model->weight.copy_(weight);
    auto parameters = model->parameters();
    for (std::size_t i = 0; i < top.size(); ++i) parameters.at(i + 1).copy_(top[i]);
  }
  LocalTraining result;
  const auto loss = [&](std::span<const std::uint32_t> chosen) {
    const data::Table rows = train.select_rows(chosen);
    const torch::Tensor value = nn::loss(m.family, model->forward(features_tensor(rows)), nn::to_tensor(rows.labels()));
    result.losses.push_back(value.item<double>());
    return value;
  };
  const std::size_t steps = m.training.epochs * ((train.rows() + m.training.batch - 1) / m.training.batch);
  lab::train_steps(*model, train.rows(), loss, m.training, [&](std::uint64_t step) { return step < steps; });
  result.metric = metric_of(set, lab::score(model, test), test.labels());
  return result;
}

CellResult train_three_ways(const PaperSet& set, std::size_t epochs, const StudyOptions& options) {
  const PaperRows all = read_paper_rows(set, options.data);
  const data::Table train = some_rows(all.train, most_rows(options));
  const data::Table test = some_rows(all.test, most_rows(options));
  const std::array<const data::Table*, 2> tables{&train, &test};
  TwoPartyModel model = model_of(set, tables);
  model.training.epochs = epochs;
  const TwoPartyTraining federated = train_two_parties(model, cut_rows(set, train), cut_rows(set, test));
  const LocalTraining joined = train_local(set, model, train, test, federated.first_weight, federated.first_top);
  const auto in_a = static_cast<std::int64_t>(set.in_a());
  const LocalTraining alone =
      train_local(set, model, data::vertical_split(train, set.in_a()).b, data::vertical_split(test, set.in_a()).b,
                  federated.first_weight.slice(0, in_a), federated.first_top);
  CellResult result;
  result.numbers = {{"federated", metric_of(set, federated.scores, test.labels())},
                    {"joined", joined.metric},
                    {"B only", alone.metric},
                    {"rows", static_cast<double>(train.rows())},
                    {"test rows", static_cast<double>(test.rows())},
                    {"epochs", static_cast<double>(epochs)}};
  result.series = {{"federated", points_of(federated.losses)},
                   {"joined", points_of(joined.losses)},
                   {"B only", points_of(alone.losses)}};
  result.words = {{"measure", set.outputs == 1 ? "AUC" : "accuracy"}, {"way", federated.way}};
  return result;
}

/// A step of news20 takes as long as ten of the others: a quick study has fewer.
StudyOptions options_for(const PaperSet& set, StudyOptions options) {
  constexpr std::size_t kManyWeights = 1'000'000;
  constexpr std::size_t kFewer = 8;
  if (options.quick && set.features * set.outputs > kManyWeights) options.quick_rows /= kFewer;
  return options;
}

Cell convergence_cell(const PaperSet& set, const StudyOptions& study) {
  const StudyOptions options = options_for(set, study);
  const std::size_t epochs = options.quick ? 1 : 10;
  Cell cell;
  cell.name = std::string(set.name) + " " + std::string(set.model);
  cell.settings = settings_of("convergence", options);
  cell.settings.set("data set", set.name).set("model", set.model).set("epochs", epochs);
  cell.settings.set("rows", rows_words(options));
  cell.expected_seconds = (set.outputs > 1 ? 10 : 1) * (options.quick ? 1.0 : 60.0);
  const std::string missing = missing_file(set, options.data);
  cell.measure = [=, &set] {
    require<DataError>(missing.empty(), missing, " is not in the folder that BLINDFL_DATA names");
    return train_three_ways(set, epochs, options);
  };
  return cell;
}

/// A data set with categories, and where it is read.
struct CategorySet {
  const char* name;
  DeepModel model;
  std::vector<const char*> files;
  CategorySource (*read)(const std::filesystem::path& folder);
};

std::vector<CategorySet> category_sets() {
  return {
      {"Adult (a9a's rows) WDL", DeepModel::kWideDeep, {"adult.data.xz", "adult.test.xz"}, read_adult},
      {"Avazu sample WDL", DeepModel::kWideDeep, {"avazu.15k.csv.xz"}, read_avazu},
      {"Criteo sample DLRM", DeepModel::kDlrm, {"criteo-mini.tr.libsvm.xz", "criteo-mini.va.libsvm.xz"}, read_criteo}};
}

CellResult train_deep_three_ways(const CategorySet& set, std::size_t epochs, const StudyOptions& options) {
  CategorySource source = set.read(options.data);
  const auto step = [most = most_rows(options)](std::size_t rows) { return (rows + most - 1) / most; };
  source = source.some(step(source.train.rows), step(source.test.rows));
  const CategoryData data = prepare_categories(source);
  const train::TrainOptions training{.epochs = epochs, .batch = 128, .sgd = {.learning_rate = 0.05, .momentum = 0.9}};
  const FederatedDeepTraining federated = train_deep(set.model, data, training);
  const DeepTraining joined = train_deep_joined(set.model, data, federated.start, training);
  const DeepTraining alone = train_deep_of_b(set.model, data, federated.start, training);
  const std::vector<double>& labels = data.test.numeric.labels();
  const auto auc = [&](const DeepTraining& of) { return run::auc(nn::to_vector(of.scores), labels); };
  CellResult result;
  result.numbers = {{"federated", auc(federated)},
                    {"joined", auc(joined)},
                    {"B only", auc(alone)},
                    {"rows", static_cast<double>(data.train.numeric.rows())},
                    {"test rows", static_cast<double>(labels.size())},
                    {"epochs", static_cast<double>(epochs)}};
  result.series = {{"federated", points_of(federated.losses)},
                   {"joined", points_of(joined.losses)},
                   {"B only", points_of(alone.losses)}};
  result.words = {{"measure", "AUC"}, {"way", "exchanged over lattice; tables by oblivious transfer"}};
  return result;
}

Cell category_cell(const CategorySet& set, const StudyOptions& options) {
  const std::size_t epochs = options.quick ? 1 : 10;
  Cell cell;
  cell.name = set.name;
  cell.settings = settings_of("convergence", options);
  cell.settings.set("data set", set.name).set("epochs", epochs).set("rows", rows_words(options));
  cell.expected_seconds = options.quick ? 15 : 600;
  cell.measure = [=] {
    for (const char* file : set.files) {
      require<DataError>(std::filesystem::exists(options.data / file), file,
                         " is not in the folder that BLINDFL_DATA names");
    }
    return train_deep_three_ways(set, epochs, options);
  };
  return cell;
}

run::LineChart chart_of(const Cell& cell, const CellResult& result) {
  run::LineChart chart{.title = "Training loss: " + cell.name, .x_label = "mini-batch", .lines = {}};
  for (const char* way : {"federated", "joined", "B only"}) {
    chart.lines.push_back({.name = way, .points = result.line(way)});
  }
  return chart;
}

Shown show_convergence(std::span<const Cell> cells, std::span<const CellResult> results, const StudyOptions& options) {
  Shown shown;
  ShownTable table{.words = 2,
                   .headings = {"data set and model", "measure", "federated", "joined", "B only", "rows", "epochs"},
                   .rows = {}};
  std::vector<std::string> as_good;
  std::vector<std::string> differs;
  std::vector<std::string> better;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const CellResult& result = results[i];
    if (!result.measured()) continue;
    const double federated = result.number("federated");
    table.rows.push_back({cells[i].name, result.word("measure"), fixed_text(federated, 4),
                          fixed_text(result.number("joined"), 4), fixed_text(result.number("B only"), 4),
                          count_text(static_cast<std::uint64_t>(result.number("rows"))),
                          decimal_text(result.number("epochs"))});
    (std::abs(federated - result.number("joined")) <= kComparable ? as_good : differs).push_back(cells[i].name);
    if (federated > result.number("B only")) better.push_back(cells[i].name);
    shown.lines.push_back(chart_of(cells[i], result));
  }
  const std::string within = "within " + decimal_text(kComparable) + " of the joined model on " +
                             (as_good.empty() ? "none" : listed(as_good)) +
                             (differs.empty() ? "" : ", further from it on " + listed(differs));
  const std::string above = "above B alone on " + (better.empty() ? std::string("none") : listed(better));
  shown.tables.push_back(std::move(table));
  shown.sentence =
      "In the paper, federated models end where models on the joined columns end, and above models on B's columns "
      "alone. Here, federated test AUC or accuracy is " +
      within + "; it is " + above + ".";
  shown.notes = {
      "Batches of 128, momentum 0.9, learning rate 0.05 as in the paper (0.01 on the counts of news20); all "
      "three begin with the same weights, B alone with those of its own columns, and see the same batches in the same "
      "order. Open top, ReLU."};
  if (options.quick) {
    shown.notes.push_back("A quick run: one epoch of " + rows_words(options) +
                          " rows each (of news20, an eighth of that); the paper has ten of all.");
  }
  shown.claims = {{"Federated models are as good as joined ones", within},
                  {"Federated models are better than those of B's features alone", above}};
  return shown;
}

}  // namespace

Exhibit convergence_figure(const StudyOptions& options) {
  Exhibit figure{.name = "figure:convergence", .title = "Convergence", .cells = {}, .show = {}};
  for (const PaperSet& set : paper_sets()) {
    if (!set.files.empty()) figure.cells.push_back(convergence_cell(set, options));
  }
  for (const CategorySet& set : category_sets()) figure.cells.push_back(category_cell(set, options));
  figure.show = [cells = figure.cells, options](std::span<const CellResult> results) {
    return show_convergence(cells, results, options);
  };
  return figure;
}

}  // namespace blindfl::lab::paper
