#include "blindfl/app/torch/attack_run.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <ostream>
#include <string>

#include "blindfl/app/commands/run.h"
#include "blindfl/app/plan/job_layers.h"
#include "blindfl/app/torch/audited_run.h"
#include "blindfl/base/disk_file.h"
#include "blindfl/base/error.h"
#include "blindfl/base/number_text.h"
#include "blindfl/lab/attacks/own_view.h"
#include "blindfl/lab/attacks/recorded_view.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/run/attack_page.h"
#include "blindfl/run/run_folder.h"

namespace blindfl::app {

namespace {

namespace fs = std::filesystem;
namespace attacks = lab::attacks;
using torch::Tensor;
using torch::indexing::Slice;

constexpr std::size_t kMostCells = std::size_t{1} << 23;  // of a matrix of features that is looked at whole
constexpr std::size_t kMostColumns = 512;

/// Both sides of a run, as far as they are here.
struct Audit {
  const AuditedRun& mine;
  const AuditedRun* truth = nullptr;
  run::AttackResults results{};

  [[nodiscard]] bool is_b() const { return mine.party() == Party::kB; }
  void untried(std::string attack, std::string why) {
    results.untried.push_back({.attack = std::move(attack), .why = std::move(why)});
  }
};

std::string_view name_of(RowSet set) {
  return set == RowSet::kValidation ? "validation" : "test";
}

/// What was kept of a layer in all passes over one set of rows.
std::vector<const SeenLayer*> passes_of(const AuditedRun& run, RowSet set, const std::string& layer) {
  std::vector<const SeenLayer*> found;
  for (const SeenPass& pass : run.view()) {
    if (pass.set != name_of(set)) continue;
    for (const SeenLayer& each : pass.layers) {
      if (each.name == layer && each.rows > 0) found.push_back(&each);
    }
  }
  return found;
}

/// The set whose rows passed most often: several openings tell more than one.
RowSet set_to_attack(const AuditedRun& run, const std::string& layer) {
  const std::size_t validations = passes_of(run, RowSet::kValidation, layer).size();
  return validations > passes_of(run, RowSet::kTest, layer).size() ? RowSet::kValidation : RowSet::kTest;
}

/// As many rows as are in all passes, and as a dense matrix of both parties' columns may have.
std::size_t rows_to_attack(const std::vector<const SeenLayer*>& passes, std::size_t columns) {
  std::size_t rows = kMostSeenRows;
  for (const SeenLayer* pass : passes) rows = std::min(rows, pass->rows);
  return std::min(rows, kMostCells / std::max<std::size_t>(columns, 1));
}

std::vector<double> first(std::vector<double> values, std::size_t count) {
  values.resize(std::min(count, values.size()));
  return values;
}

Tensor numbers_of(const SeenLayer& layer, std::size_t rows) {
  const Tensor all =
      layer.opened
          ? nn::to_tensor(layer.z).to(torch::kFloat64).view({nn::torch_size(layer.rows), nn::torch_size(layer.outputs)})
          : attacks::numbers_of(layer.share);
  return all.index({Slice(0, nn::torch_size(rows))});
}

void attack_layer(Audit& audit, const std::string& layer, bool categories, std::ostream& out) {
  const RowSet set = set_to_attack(audit.mine, layer);
  const std::vector<const SeenLayer*> passes = passes_of(audit.mine, set, layer);
  const PartyShape theirs = audit.is_b() ? audit.mine.facts().shape_a() : audit.mine.facts().shape_b;
  const std::size_t own = audit.mine.columns(categories);
  const std::size_t peers = audit.truth != nullptr ? audit.truth->columns(categories) : 0;
  if (own + peers > kMostColumns) {
    audit.untried("source layer '" + layer + "'", "the attacks take features whole, " + std::to_string(kMostColumns) +
                                                      " columns at most; there are " + std::to_string(own + peers));
    return;
  }
  const std::size_t rows = rows_to_attack(passes, own + peers);
  attacks::OwnView view;
  view.party = audit.mine.party();
  view.layer = layer;
  view.opened = passes.back()->opened;
  view.output_scale = passes.back()->output_scale;
  view.peer_columns = categories ? 0 : theirs.numeric;
  view.own = audit.mine.features(set, rows, categories);
  for (const SeenLayer* pass : passes) {
    view.z.push_back(numbers_of(*pass, rows));
    if (!pass->opened) view.shares.push_back(pass->share);
    if (audit.is_b() && pass->opened && pass->weight_b) view.share_b.push_back(attacks::numbers_of(*pass->weight_b));
  }
  if (audit.truth != nullptr) {
    view.peer = audit.truth->features(set, rows, categories);
    if (!audit.is_b()) view.labels = first(audit.truth->labels(set), rows);
  }
  out << "looking at source layer '" << layer << "': " << plainly_counted(rows, "row") << ", "
      << plainly_counted(passes.back()->outputs, "output") << "; wide ones may take minutes\n"
      << std::flush;
  audit_uniformity(view, audit.results);
  if (audit.is_b()) audit_binary_columns(view, {}, audit.results);
  audit_regression(view, {}, audit.results);
  if (audit.is_b()) audit_lattice(view, {}, audit.results);
}

const SeenPass* pass_of(const AuditedRun& run, std::string_view set) {
  const SeenPass* last = nullptr;
  for (const SeenPass& pass : run.view()) {
    if (pass.set == set) last = &pass;
  }
  return last;
}

const ShareMatrix* weight_of_a(const AuditedRun* run, std::string_view set, const std::string& layer) {
  const SeenPass* pass = run == nullptr ? nullptr : pass_of(*run, set);
  if (pass == nullptr) return nullptr;
  const auto found = std::ranges::find(pass->layers, layer, &SeenLayer::name);
  return found == pass->layers.end() || !found->weight_a ? nullptr : &*found->weight_a;
}

void attack_weights_of_a(Audit& audit, const std::string& layer) {
  const RowSet set = set_to_attack(audit.mine, layer);
  const ShareMatrix* last = weight_of_a(&audit.mine, name_of(set), layer);
  const std::size_t columns = audit.mine.columns(false);
  if (last == nullptr || columns == 0 || columns > kMostColumns) {
    audit.untried("labels by X_A U_A", columns == 0
                                           ? "A has no numeric features"
                                           : "A's share of these weights is not whole, since they are updated under "
                                             "encryption, or they are too many to be kept");
    return;
  }
  const std::size_t rows = rows_to_attack(passes_of(audit.mine, set, layer), columns);
  attacks::OwnWeights weights;
  weights.layer = layer;
  weights.features = audit.mine.features(set, rows, false);
  weights.last = attacks::numbers_of(*last);
  if (const ShareMatrix* start = weight_of_a(&audit.mine, "start", layer)) weights.first = attacks::numbers_of(*start);
  if (const ShareMatrix* theirs = weight_of_a(audit.truth, name_of(set), layer)) {
    weights.weights = attacks::numbers_of(open(*last, *theirs));
  }
  if (audit.truth != nullptr) weights.labels = first(audit.truth->labels(set), rows);
  audit_weights(weights, {}, audit.results);
}

void attack_outputs(Audit& audit, std::ostream& out) {
  const SeenPass* last = pass_of(audit.mine, "test");
  if (last == nullptr) last = pass_of(audit.mine, "validation");
  if (last == nullptr) {
    audit.untried("the source layers' outputs and weights",
                  "this run kept nothing of what passed through them: set private.run.keep_view to true for the next "
                  "one, which also needs rows for a test or for validation");
    return;
  }
  for (const SeenLayer& layer : last->layers) {
    attack_layer(audit, layer.name, layer.categories, out);
    if (!audit.is_b() && !layer.categories) attack_weights_of_a(audit, layer.name);
  }
  if (!audit.is_b()) {
    audit.untried("labels by the direction or length of derivatives",
                  "A gets none: they reach A encrypted, or as shares in the sums that its shares of weights are. "
                  "`blindfl_lab paper --only figure:derivatives` attacks these messages as they arrive");
  }
}

/// Of a linear regression's labels, as its training found it.
LabelScaling scaling_of(const AuditedRun& run) {
  const std::vector<double> all = run.labels(RowSet::kTraining);
  std::vector<double> real;
  for (const AuditedRun::NamedRow& row : run.named_rows(RowSet::kTraining)) real.push_back(all.at(row.place));
  return standardised(real);
}

/// What a family's predictions were made from.
Tensor before_link(const AuditedRun& run, Tensor values) {
  switch (family_of(run.facts().shared.model)) {
    case Family::kLogistic:
      return values.logit();
    case Family::kMultinomial:
    case Family::kPoisson:
      return values.log();
    case Family::kLinear: {
      const LabelScaling scaling = scaling_of(run);
      return (values - scaling.center) / scaling.scale;
    }
  }
  return values;
}

bool has_one_output(const job::Model& model) {
  return family_of(model) != Family::kMultinomial;
}

/// The features of the rows at some places of a set, where they can be taken whole.
Tensor features_at(const AuditedRun& run, RowSet set, const std::vector<std::int64_t>& places) {
  const std::size_t count = run.rows(set).size();
  const std::size_t columns = run.columns(false);
  if (columns > kMostColumns || run.columns(true) > 0 || count * columns > kMostCells) return {};
  return run.features(set, count, false).index_select(0, torch::tensor(places, torch::kInt64));
}

/// Scores of rows of one set out of a file, as numbers before the link, at the bits that they were released with.
attacks::OwnScores scores_of(const Audit& audit, const fs::path& path, RowSet set) {
  constexpr int kBitsOfProbabilities = 10;  // what a probability of 24 bits surely says of a logit
  const AuditedRun& run = audit.mine;
  const job::Model& model = run.facts().shared.model;
  const std::vector<AuditedRun::NamedRow> named = run.named_rows(set);
  const ScoresOfFile file = read_scores(path, named);
  attacks::OwnScores scores;
  scores.family = family_of(model);
  scores.score_bits = model.shared_top() ? std::min(model.score_bits, kBitsOfProbabilities) : kBitsOfProbabilities;
  scores.peer_columns = run.facts().shape_a().numeric;
  Tensor values = before_link(run, file.values);
  if (has_one_output(model)) {
    const double unit = std::ldexp(1.0, -scores.score_bits);
    values = (values / unit).round() * unit;
  }
  const Tensor finite = values.isfinite().all(1);  // others are of probabilities that rounding made 0 or 1
  const std::vector<double> labels = run.labels(set);
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < file.of.size(); ++i) {
    if (!finite[nn::torch_size(i)].item<bool>()) continue;
    const std::size_t place = named[file.of[i]].place;
    places.push_back(nn::torch_size(place));
    if (!labels.empty()) scores.labels.push_back(labels[place]);
  }
  scores.scores = values.index({finite});
  scores.own = features_at(run, set, places);
  if (audit.truth != nullptr) scores.peer = features_at(*audit.truth, set, places);
  return scores;
}

bool is_generalised_linear(job::ModelKind kind) {
  using job::ModelKind;
  return kind == ModelKind::kLr || kind == ModelKind::kLinear || kind == ModelKind::kPoisson;
}

/// Z of a single output is the score but for a constant, and has all its bits.
void take_opened_scores(const Audit& audit, attacks::OwnScores& scores) {
  const std::vector<const SeenLayer*> passes = passes_of(audit.mine, RowSet::kTest, "source");
  if (passes.empty() || !passes.back()->opened || passes.back()->outputs != 1) return;
  const std::size_t rows = rows_to_attack(passes, audit.mine.columns(false));
  scores.scores = numbers_of(*passes.back(), rows);
  scores.score_bits = passes.back()->output_scale;
  scores.own = audit.mine.features(RowSet::kTest, rows, false);
  if (audit.truth != nullptr) scores.peer = audit.truth->features(RowSet::kTest, rows, false);
}

void attack_scores_of_b(Audit& audit, const AttackTask& task) {
  const fs::path path = audit.mine.folder() / "test_scores.csv";
  const job::Model& model = audit.mine.facts().shared.model;
  if (!fs::exists(path)) {
    audit.untried("what released scores tell", "the run had no rows for a test, and so released none");
    return;
  }
  attacks::OwnScores scores = scores_of(audit, path, RowSet::kTest);
  if (!task.training_scores) {
    audit.untried("which rows were trained with",
                  "it takes scores of rows that were: --training-scores FILE, from `blindfl predict --data` with the "
                  "training file. A counts that as a scoring");
  } else {
    const attacks::OwnScores trained = scores_of(audit, *task.training_scores, RowSet::kTraining);
    require<DataError>(trained.scores.size(0) > 0, task.training_scores->string(),
                       ": scores no row that the run was trained with");
    if (!scores.labels.empty()) audit_membership(trained, scores, audit.results);
  }
  if (!scores.own.defined() || !has_one_output(model)) {
    const std::string why = has_one_output(model) ? "B has categories, or too many features to take them whole"
                                                  : "a model of several classes has several scores for each row";
    audit.untried("patterns of A's features from scores, and a copy of the model", why);
    return;
  }
  audit_model(scores, {}, audit.results);
  if (is_generalised_linear(model.kind)) {
    take_opened_scores(audit, scores);
    audit_patterns(scores, {.draws_of_search = 5}, audit.results);
  } else {
    audit.untried("patterns of A's features from scores",
                  "it is for generalised linear models, whose scores are sums of both parties' parts");
  }
}

std::string seen_words(const AuditedRun& run) {
  const bool open = !run.facts().shared.model.shared_top();
  std::string words = run.party() == Party::kB ? (open ? "B's side of an open top: " : "B's side of a shared top: ")
                                               : (open ? "A's side of an open top: " : "A's side of a shared top: ");
  const auto passes = static_cast<std::size_t>(
      std::ranges::count_if(run.view(), [](const SeenPass& pass) { return pass.set != "start"; }));
  if (passes == 0) return words + "this party's features and files; what it saw in the run was not kept.";
  return words + "what it saw when rows for validation and test passed, " + plainly_counted(passes, "time") +
         ", and its own features and files.";
}

/// What holds for several layers is said once.
void leave_out_repeated(std::vector<run::UntriedAttack>& untried) {
  std::vector<run::UntriedAttack> all;
  for (const run::UntriedAttack& each : untried) {
    const bool is_new = std::ranges::none_of(
        all, [&](const run::UntriedAttack& other) { return other.attack == each.attack && other.why == each.why; });
    if (is_new) all.push_back(each);
  }
  untried = std::move(all);
}

void print(const run::AttackResults& results, std::ostream& out) {
  for (const run::AttackFigure& figure : results.figures) {
    out << (gives_away(figure) ? "GIVES AWAY  " : "chance      ") << figure.attack << " (" << figure.of
        << "): " << decimal_text(figure.value, 3) << ", by chance " << fixed_text(figure.chance, 3) << " +- "
        << fixed_text(figure.standard_error, 3) << ": " << figure.measure << "\n";
  }
  for (const run::UntriedAttack& each : results.untried) {
    out << "not tried   " << each.attack << ": " << each.why << "\n";
  }
  out << words_of(results) << "\n";
}

std::string text_of(const fs::path& path) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 26;
  DiskFile file = DiskFile::open(path);
  std::string text;
  std::string piece(std::size_t{1} << 16, '\0');
  while (const std::size_t have = file.read_some(std::as_writable_bytes(std::span(piece)))) {
    text.append(piece, 0, have);
    require<DataError>(text.size() <= kMostBytes, path.string(), ": is too large for a report");
  }
  return text;
}

void write_page(const AuditedRun& run, const Audit& audit, std::ostream& out) {
  run::AttackPage page{.summary = run.summary(), .seen = seen_words(run), .with_truth = audit.truth != nullptr};
  page.summary.release = version();
  page.results = audit.results;
  auto folder = run::RunFolder::reopen(run.folder(), run.party(), run.summary().run);
  const auto report = fs::exists(folder.report_path())
                          ? run::with_attacks_link(text_of(folder.report_path()), words_of(audit.results))
                          : std::nullopt;
  folder.write_attacks(run::attacks_html(page), report);
  out << "page: " << folder.attacks_path().string() << (report ? "; report.html has a link to it" : "") << "\n";
}

}  // namespace

void attack_own_run(const AttackTask& task, std::ostream& out) {
  torch::set_num_threads(1);
  const AuditedRun mine(task.folder);
  std::optional<AuditedRun> truth;
  if (task.truth) {
    truth.emplace(*task.truth);
    require<ConfigError>(truth->party() != mine.party() && truth->summary().run == mine.summary().run,
                         task.truth->string(),
                         ": is not the peer's folder of the same run; --truth is for rehearsals, "
                         "with both parties' folders on one machine");
  }
  require<ConfigError>(!task.training_scores || mine.party() == Party::kB,
                       "--training-scores: scores are B's, and this is A's run");
  Audit audit{.mine = mine, .truth = truth ? &*truth : nullptr};
  attack_outputs(audit, out);
  if (audit.is_b()) attack_scores_of_b(audit, task);
  leave_out_repeated(audit.results.untried);
  print(audit.results, out);
  write_page(mine, audit, out);
}

}  // namespace blindfl::app
