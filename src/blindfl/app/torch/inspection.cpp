#include "blindfl/app/torch/inspection.h"

#include <iomanip>
#include <ostream>

#include "blindfl/app/plan/estimate.h"
#include "blindfl/app/torch/run_files.h"
#include "blindfl/app/torch/scoring_counts.h"
#include "blindfl/app/torch/training_report.h"
#include "blindfl/app/torch/weighting.h"
#include "blindfl/base/error.h"
#include "blindfl/base/number_text.h"
#include "blindfl/base/text.h"
#include "blindfl/run/run_folder.h"

namespace blindfl::app {

namespace {

namespace fs = std::filesystem;

std::ostream& line(std::ostream& out, std::string_view name) {
  return out << std::left << std::setw(16) << name;
}

void print_quality(const run::RunSummary& summary, std::ostream& out) {
  if (summary.best) {
    line(out, "kept") << "the model of step " << summary.best->step << " (epoch " << summary.best->epoch
                      << "), the best in validation" << (summary.stopped_early ? "; stopped early" : "") << "\n";
  }
  for (const run::Measure& result : summary.results) line(out, result.name) << result.value << "\n";
  if (!summary.confusion.empty()) out << run::confusion_text(summary.confusion);
  out << baseline_text(summary);
  if (summary.still_falling.value_or(false) && !summary.stopped_early) {
    line(out, "loss") << "still falling when training ended: train longer with `blindfl resume --epochs N`\n";
  }
}

void print_summary(const fs::path& folder, std::ostream& out) {
  const run::RunSummary summary = run::read_summary(folder);
  line(out, "run") << summary.run << " of party " << name_of(summary.party) << "\n";
  line(out, "state") << run::name_of(summary.state) << " after step " << summary.steps << ", "
                     << seconds_text(summary.seconds) << " of work\n";
  line(out, "release") << summary.release << "\n";
  line(out, "traffic") << bytes_text(static_cast<double>(summary.sent.bytes)) << " sent, "
                       << bytes_text(static_cast<double>(summary.received.bytes)) << " received\n";
  if (summary.rows != run::RowCounts{}) line(out, "rows") << rows_text(summary.rows) << "\n";
  if (summary.range_checks != run::RangeChecks{}) {
    line(out, "range checks") << range_checks_text(summary.range_checks) << "\n";
  }
  print_quality(summary, out);
}

void print_checkpoints(const fs::path& folder, std::ostream& out) {
  if (!fs::is_directory(folder / "checkpoints")) return;
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(folder / "checkpoints")) count += entry.path().extension() == ".ckpt";
  line(out, "checkpoints") << count << "\n";
  const fs::path aside = folder / "checkpoints" / "superseded";
  if (!fs::is_directory(aside)) return;
  const auto superseded = std::distance(fs::directory_iterator(aside), fs::directory_iterator());
  line(out, "superseded") << superseded << ", in checkpoints/superseded\n";
}

void print_shape(std::ostream& out, std::string_view name, const PartyShape& shape) {
  line(out, name) << words_of(shape);
  if (shape.nonzeros > 0) out << ", at most " << shape.nonzeros << " of a row not 0";
  out << "\n";
  for (const CategoryField& field : shape.fields) {
    line(out, "") << field.name << ": " << plainly_counted(field.categories, "category", "categories");
    if (field.most > 1) out << ", up to " << field.most << " in a row";
    out << "\n";
  }
}

/// Names of classes are B's own words, and on B's machine already.
void print_classes(const fs::path& folder, const job::Model& model, std::ostream& out) {
  if (!fs::exists(folder / "preparation.bin")) return;
  const std::string words = class_words(model, load_preparation(folder).classes());
  if (!words.empty()) line(out, "labels") << words << "\n";
}

void print_model(const fs::path& folder, std::ostream& out) {
  const ModelFacts facts = load_model_facts(folder);
  line(out, "model") << job::Value<job::ModelKind>::write(facts.shared.model.kind) << " of party "
                     << name_of(facts.party) << ", run " << facts.run << ", step " << facts.step << "\n";
  if (facts.shared.model.shared_top()) {
    line(out, "top") << "shared; scores are rounded to " << facts.shared.model.score_bits << " fractional bits\n";
  }
  line(out, "trained on") << plainly_counted(facts.trained, "row") << "\n";
  if (facts.party == Party::kB) print_classes(folder, facts.shared.model, out);
  if (facts.shapes_a.several()) {
    line(out, "A's") << listed(facts.shapes_a.names());
    if (facts.party == Party::kA) out << "; this is " << facts.shapes_a.name(facts.place);
    out << "\n";
  }
  for (std::size_t i = 0; i < facts.shapes_a.size(); ++i) {
    print_shape(out, facts.shapes_a.name(i) + "'s features", facts.shapes_a[i]);
  }
  print_shape(out, "B's features", facts.shape_b);
  const JobEstimate layers =
      estimate(facts.shared, facts.shapes_a, facts.shape_b, facts.rows, job_link(facts.shared.scheme));
  for (const LayerEstimate& layer : layers.layers) line(out, "layer") << layer.name << ": " << layer.words << "\n";
  line(out, "digest") << to_hex(MarkedFile::of(folder / "model.bin", 0).digest) << " of model.bin\n";
  for (const ScoringCount& scored : read_scorings(folder, facts.owner())) {
    constexpr std::size_t kShown = 8;
    line(out, "scored") << scored.count << (scored.count == 1 ? " time" : " times") << " by model " << scored.model
                        << ": the file with SHA-256 " << to_hex(ByteView(scored.digest).first(kShown)) << "...\n";
  }
  if (fs::exists(folder / "keys.bin")) line(out, "keys") << "keys.bin: what the peer holds encrypted needs it\n";
}

}  // namespace

void inspect(const fs::path& folder, std::ostream& out) {
  require<ConfigError>(fs::is_directory(folder), folder.string(),
                       ": there is no such folder; name that of a run, or its model");
  const bool is_run = fs::exists(folder / "summary.json");
  const bool is_model = fs::exists(folder / "model.bin");
  require<ConfigError>(is_run || is_model, folder.string(),
                       ": is the folder neither of a run nor of a model; name private.run.folder of a job");
  if (is_run) {
    print_summary(folder, out);
    print_checkpoints(folder, out);
    if (fs::exists(folder / "model" / "model.bin")) print_model(folder / "model", out);
  } else {
    print_model(folder, out);
  }
}

}  // namespace blindfl::app
