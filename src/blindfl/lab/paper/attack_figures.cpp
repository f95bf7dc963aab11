#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/base/number_text.h"
#include "blindfl/base/text.h"
#include "blindfl/data/table_cuts.h"
#include "blindfl/he/registry/registry.h"
#include "blindfl/lab/attacks/paper_attacks.h"
#include "blindfl/lab/paper/category_data.h"
#include "blindfl/lab/paper/data_sets.h"
#include "blindfl/lab/paper/study.h"

namespace blindfl::lab::paper {

namespace {

using baselines::VerticalFields;
using baselines::VerticalRows;

constexpr std::array<const char*, 2> kAdultFiles{"adult.data.xz", "adult.test.xz"};
/// Shares and weights that a drawing shows.
constexpr std::size_t kShownCoordinates = 200;

std::size_t epochs_of(const StudyOptions& options) {
  return options.quick ? 1 : 10;
}

train::TrainOptions attack_training(double learning_rate, const StudyOptions& options) {
  return {.epochs = epochs_of(options), .batch = 128, .sgd = {.learning_rate = learning_rate, .momentum = 0.9}};
}

VerticalRows vertical_rows(const PaperSet& set, const data::Table& table) {
  data::VerticalSplit split = data::vertical_split(table, set.in_a());
  return {.a = {.numeric = std::move(split.a), .fields = {}, .labels = {}},
          .b = {.numeric = std::move(split.b), .fields = {}, .labels = table.labels()}};
}

VerticalRows vertical_rows(const CategoryData& data, const CategoryRows& rows) {
  VerticalRows both;
  both.a.numeric = data::vertical_split(rows.numeric, data.columns_a).a;
  both.a.fields = rows.fields_a;
  both.b = rows_of_b(data, rows);
  return both;
}

std::string bar_name(const attacks::ActivationBar& bar) {
  std::string name = bar.what + ", by " + bar.predicted_by;
  if (bar.what == "ModelSS") name += ", V_A times " + decimal_text(bar.scale_of_v);
  return name;
}

CellResult attack_activations_of(const PaperSet& set, const StudyOptions& options) {
  const PaperRows all = read_paper_rows(set, options.data);
  const std::size_t most = most_rows(options);
  const attacks::ActivationFigure figure{.outputs = set.outputs,
                                         .family = set.family(),
                                         .training = attack_training(set.learning_rate, options),
                                         .seed = options.seed};
  const auto scheme = he::make_scheme("lattice");
  CellResult result;
  std::size_t number = 0;
  for (const attacks::ActivationBar& bar :
       attacks::activation_bars(*scheme, vertical_rows(set, some_rows(all.train, most)),
                                vertical_rows(set, some_rows(all.test, most)), figure)) {
    const std::string at = std::to_string(number++);
    result.words["bar " + at] = bar_name(bar);
    result.numbers["success " + at] = bar.attack.value;
    result.numbers["chance " + at] = bar.attack.chance;
    result.numbers["joined " + at] = bar.joined.value;
  }
  result.numbers["bars"] = static_cast<double>(number);
  return result;
}

/// What the attack makes of split learning, and of shared weights without shared gradients: "0.861 on a9a LR (whole
/// model 0.875)", "0.795 to 0.863 on a9a LR".
struct KnownWeights {
  std::vector<std::string> owned{};
  std::vector<std::string> shared{};

  void add(const std::string& on, const CellResult& result) {
    const auto number = [&](const char* name, std::size_t bar) {
      return result.number(std::string(name) + " " + std::to_string(bar));
    };
    owned.push_back(fixed_text(number("success", 0), 3) + " on " + on + " (whole model " +
                    fixed_text(number("joined", 0), 3) + ")");
    double least = HUGE_VAL;
    double most = 0;
    for (std::size_t bar = 0; bar < static_cast<std::size_t>(result.number("bars")); ++bar) {
      if (!result.word("bar " + std::to_string(bar)).starts_with("ModelSS, ")) continue;
      least = std::min(least, number("success", bar));
      most = std::max(most, number("success", bar));
    }
    if (most > 0) shared.push_back(fixed_text(least, 3) + " to " + fixed_text(most, 3) + " on " + on);
  }
};

Shown show_activations(std::span<const Cell> cells, std::span<const CellResult> results) {
  Shown shown;
  std::vector<std::string> words;
  KnownWeights known;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const CellResult& result = results[i];
    if (!result.measured()) continue;
    if (result.number("bars") > 0) known.add(cells[i].name, result);
    ShownTable table{.words = 1, .headings = {cells[i].name, "A's attack", "chance", "whole model"}, .rows = {}};
    run::BarChart bars{.title = "A tells labels of test rows: " + cells[i].name, .series = {"success"}, .rows = {}};
    const auto count = static_cast<std::size_t>(result.number("bars"));
    for (std::size_t b = 0; b < count; ++b) {
      const std::string at = std::to_string(b);
      const double success = result.number("success " + at);
      table.rows.push_back({result.word("bar " + at), fixed_text(success, 3),
                            fixed_text(result.number("chance " + at), 3),
                            fixed_text(result.number("joined " + at), 3)});
      bars.rows.push_back({result.word("bar " + at), {{success, fixed_text(success, 3)}}});
    }
    if (count > 0) {
      words.push_back("on " + cells[i].name + " from " + fixed_text(result.number("success 0"), 3) +
                      " in split learning to " + fixed_text(result.number("success " + std::to_string(count - 1)), 3) +
                      " with BlindFL, where chance is " +
                      fixed_text(result.number("chance " + std::to_string(count - 1)), 3));
    }
    shown.tables.push_back(std::move(table));
    shown.bars.push_back(std::move(bars));
  }
  const std::string measured = words.empty() ? "not measured" : listed(words);
  shown.sentence =
      "In the paper, an A that owns W_A tells labels by X_A W_A (about 0.9 AUC on w8a), one whose shares of weights "
      "are "
      "not updated as shares still does, and with both shared it guesses (about 0.5). Here A's success falls " +
      measured + ".";
  shown.notes = {
      "With both shared, U_A is a random number, and X_A U_A one random direction of A's features: it parts the "
      "classes by as much as such a direction does by chance, on either side of 0.5. Over seeds its mean is 0.5 but "
      "for "
      "its error (tests/lab/attacks/paper_figures_test.cpp); `blindfl audit --attacks` draws random directions to "
      "compare one run with.",
      "Of three classes chance is the share of the most common one; a random direction guesses no better, and often "
      "worse.",
      "Every attack on every system, or why it does not apply: docs/appendix/attacks.md."};
  const auto or_not = [](const std::vector<std::string>& what) {
    return what.empty() ? std::string("not measured") : listed(what);
  };
  shown.claims = {
      {"An A that owns W_A tells labels by X_A W_A: about 0.9 on w8a, 0.06 below the whole model", or_not(known.owned)},
      {"Shared weights without shared gradients do not hide labels, however large V_A is", or_not(known.shared)},
      {"X_A U_A tells A nothing of labels", measured}};
  return shown;
}

CategoryData adult_rows(const StudyOptions& options) {
  for (const char* file : kAdultFiles) {
    require<DataError>(std::filesystem::exists(options.data / file), file,
                       " is not in the folder that BLINDFL_DATA names");
  }
  CategorySource source = read_adult(options.data);
  const std::size_t most = most_rows(options);
  return prepare_categories(source.some(source.train.rows / most + 1, source.test.rows / most + 1));
}

attacks::DerivativeFigure derivative_figure(const StudyOptions& options) {
  return {.most_hidden_layers = 4, .training = attack_training(0.05, options), .seed = options.seed};
}

CellResult attack_split_derivatives(const StudyOptions& options) {
  const CategoryData data = adult_rows(options);
  CellResult result;
  for (const attacks::DerivativePoint& point :
       attacks::derivative_points(vertical_rows(data, data.train), vertical_rows(data, data.test),
                                  {data.fields_a, data.fields_b}, derivative_figure(options))) {
    const auto layers = static_cast<double>(point.hidden_layers);
    result.series["directions"].push_back({layers, point.split.accuracy});
    result.series["guess"].push_back({layers, point.split.guess});
    result.series["norms"].push_back({layers, point.norms.value});
    result.series["test AUC"].push_back({layers, point.test_auc});
  }
  return result;
}

CellResult attack_hidden_derivatives(const StudyOptions& options) {
  const CategoryData data = adult_rows(options);
  const auto scheme = he::make_scheme("lattice");
  const attacks::HiddenDerivatives hidden = attacks::hidden_derivatives(
      *scheme, vertical_rows(data, data.train), {data.fields_a, data.fields_b}, 1, derivative_figure(options));
  CellResult result;
  result.numbers = {{"shares", hidden.shares.balanced},
                    {"ciphertexts", hidden.ciphertexts.balanced},
                    {"norms of shares", hidden.norms.shares.value},
                    {"norms of ciphertexts", hidden.norms.ciphertexts.value}};
  return result;
}

Shown show_derivatives(std::span<const CellResult> results) {
  Shown shown;
  ShownTable table{.words = 1,
                   .headings = {"hidden layers", "rows told rightly, split learning", "most common class",
                                "AUC by norms", "model's AUC"},
                   .rows = {}};
  const auto told = results[0].line("directions");
  const auto guess = results[0].line("guess");
  const auto norms = results[0].line("norms");
  const auto auc = results[0].line("test AUC");
  for (std::size_t i = 0; i < told.size(); ++i) {
    table.rows.push_back({decimal_text(told[i].x), fixed_text(told[i].y, 4), fixed_text(guess.at(i).y, 4),
                          fixed_text(norms.at(i).y, 4), fixed_text(auc.at(i).y, 4)});
  }
  std::string split = "not measured";
  if (!told.empty()) {
    const auto [least, most] = std::ranges::minmax(told, {}, &run::ChartPoint::y);
    split = fixed_text(100 * least.y, 1) + "% to " + fixed_text(100 * most.y, 1) + "% of training rows";
  }
  const std::string ours = results[1].measured()
                               ? fixed_text(results[1].number("shares"), 3) + " by A's shares of gradients, " +
                                     fixed_text(results[1].number("ciphertexts"), 3) + " by ciphertexts"
                               : std::string("not measured");
  const std::string by_norms = results[1].measured()
                                   ? fixed_text(results[1].number("norms of shares"), 3) + " by A's shares, " +
                                         fixed_text(results[1].number("norms of ciphertexts"), 3) + " by ciphertexts"
                                   : std::string("not measured");
  shown.tables.push_back(std::move(table));
  shown.lines.push_back({.title = "A tells labels of training rows by dE_A",
                         .x_label = "hidden layers after the embeddings",
                         .lines = {{.name = "by directions", .points = told, .style = run::LineStyle::kMarked},
                                   {.name = "most common class", .points = guess, .style = run::LineStyle::kMarked}}});
  shown.sentence =
      "In the paper, an A that gets dE_A in split learning tells almost all labels, however many layers lie between. "
      "Here, Wide & Deep on Adult, it tells " +
      split + ". What A has of ours, with one hidden layer, tells (mean over the two classes, chance 0.5): " + ours +
      "; by lengths instead of directions (AUC): " + by_norms + ".";
  shown.claims = {{"By derivatives of split learning, A tells the labels of almost all training rows", split},
                  {"With Embed-MatMul, A has no derivatives to tell labels by", ours}};
  return shown;
}

CellResult compare_weights_and_shares(const StudyOptions& options) {
  const CategoryData data = adult_rows(options);
  const auto scheme = he::make_scheme("lattice");
  CellResult result;
  std::size_t number = 0;
  for (const attacks::WeightsAndShares& part : attacks::weights_and_shares(
           *scheme, vertical_rows(data, data.train), {data.fields_a, data.fields_b}, derivative_figure(options))) {
    const std::string at = std::to_string(number++);
    result.words["part " + at] = part.name;
    result.numbers["correlation " + at] = part.likeness.correlation;
    result.numbers["equal signs " + at] = part.likeness.equal_signs;
    result.numbers["weight size " + at] = part.likeness.weight_size;
    result.numbers["share size " + at] = part.likeness.share_size;
    result.numbers["coordinates " + at] = static_cast<double>(part.weights.numel());
    const torch::Tensor weights = part.weights.flatten().to(torch::kFloat64);
    const torch::Tensor shares = part.shares.flatten().to(torch::kFloat64);
    const auto count = std::min<std::int64_t>(weights.size(0), static_cast<std::int64_t>(kShownCoordinates));
    for (std::int64_t i = 0; i < count; ++i) {
      const auto x = static_cast<double>(i);
      result.series["weights " + at].push_back({x, weights[i].item<double>()});
      result.series["shares " + at].push_back({x, shares[i].item<double>()});
    }
  }
  result.numbers["parts"] = static_cast<double>(number);
  return result;
}

Shown show_model_shares(std::span<const CellResult> results) {
  Shown shown;
  const CellResult& result = results[0];
  ShownTable table{.words = 1,
                   .headings = {"weights and A's shares", "coordinates", "correlation", "by chance within",
                                "equal signs", "size of weights", "size of shares"},
                   .rows = {}};
  const auto count = result.measured() ? static_cast<std::size_t>(result.number("parts")) : 0;
  std::size_t within = 0;
  double least_ratio = HUGE_VAL;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string at = std::to_string(i);
    const std::string name = result.word("part " + at);
    const double coordinates = result.number("coordinates " + at);
    const double chance = std::min(1.0, 2 / std::sqrt(coordinates));  // two standard errors
    if (std::abs(result.number("correlation " + at)) <= chance) ++within;
    least_ratio = std::min(least_ratio, result.number("share size " + at) / result.number("weight size " + at));
    table.rows.push_back({name, fixed_text(coordinates, 0), fixed_text(result.number("correlation " + at), 3),
                          fixed_text(chance, 3), fixed_text(100 * result.number("equal signs " + at), 1) + "%",
                          decimal_text(result.number("weight size " + at)),
                          decimal_text(result.number("share size " + at))});
    if (i >= 2) continue;
    shown.lines.push_back(
        {.title = name,
         .x_label = "coordinate",
         .lines = {{.name = "A's share", .points = result.line("shares " + at), .style = run::LineStyle::kDots},
                   {.name = "weight", .points = result.line("weights " + at), .style = run::LineStyle::kDots}}});
  }
  const std::string measured =
      count == 0 ? "not measured"
                 : "shares and weights of " + std::to_string(within) + " of " + std::to_string(count) +
                       " parts correlate within two standard errors of chance, and shares are at least " +
                       decimal_text(least_ratio, 2) + " times as large";
  shown.tables.push_back(std::move(table));
  shown.sentence =
      "In the paper's figure, shares of W_A and Q_A differ from them at random, coordinate by coordinate, and show "
      "neither signs nor sizes. Here, Wide & Deep on Adult after training: " +
      measured + ".";
  shown.notes = {
      "By chance, a correlation over n coordinates stays within two standard errors, 2 / sqrt(n), in 19 of 20 cases: "
      "of few coordinates it says nothing."};
  shown.claims = {{"Shares show neither signs nor sizes of weights", measured}};
  return shown;
}

Cell attack_cell(const std::string& name, const StudyOptions& options, double expected,
                 CellResult (*measure)(const StudyOptions&)) {
  Cell cell;
  cell.name = name;
  cell.settings = settings_of("attacks", options);
  cell.settings.set("attack", name).set("rows", rows_words(options)).set("epochs", epochs_of(options));
  cell.expected_seconds = expected;
  cell.measure = [=] { return measure(options); };
  return cell;
}

}  // namespace

Exhibit activations_figure(const StudyOptions& options) {
  Exhibit figure{.name = "figure:activations", .title = "Attack on forward activations", .cells = {}, .show = {}};
  for (const char* name : {"a9a", "w8a", "connect-4"}) {
    PaperSet set = paper_set(name);
    if (set.outputs > 1) set.model = "MLR";
    Cell cell;
    cell.name = std::string(set.name) + " " + std::string(set.model);
    cell.settings = settings_of("attacks", options);
    cell.settings.set("attack", "activations")
        .set("data set", set.name)
        .set("rows", rows_words(options))
        .set("epochs", epochs_of(options));
    cell.expected_seconds = options.quick ? 5 : 100;
    cell.measure = [=] {
      const std::string missing = missing_file(set, options.data);
      require<DataError>(missing.empty(), missing, " is not in the folder that BLINDFL_DATA names");
      return attack_activations_of(set, options);
    };
    figure.cells.push_back(std::move(cell));
  }
  figure.show = [cells = figure.cells](std::span<const CellResult> results) {
    return show_activations(cells, results);
  };
  return figure;
}

Exhibit derivatives_figure(const StudyOptions& options) {
  const double scale = options.quick ? 1 : 40;
  return {.name = "figure:derivatives",
          .title = "Attack on backward derivatives",
          .cells = {attack_cell("derivatives of split learning", options, 10 * scale, attack_split_derivatives),
                    attack_cell("what A has of Embed-MatMul", options, 20 * scale, attack_hidden_derivatives)},
          .show = show_derivatives};
}

Exhibit model_shares_figure(const StudyOptions& options) {
  return {.name = "figure:model-shares",
          .title = "Weights and A's shares of them",
          .cells = {attack_cell("weights and shares", options, options.quick ? 20 : 800, compare_weights_and_shares)},
          .show = show_model_shares};
}

}  // namespace blindfl::lab::paper
