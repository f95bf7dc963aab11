#include "blindfl/app/torch/scoring_run.h"

#include <torch/torch.h>

#include <iomanip>
#include <ostream>

#include "blindfl/app/plan/open_top.h"
#include "blindfl/app/torch/aligned_rows.h"
#include "blindfl/app/torch/job_session.h"
#include "blindfl/app/torch/kept_alignments.h"
#include "blindfl/app/torch/measures.h"
#include "blindfl/app/torch/run_files.h"
#include "blindfl/app/torch/scores_file.h"
#include "blindfl/app/torch/scoring_counts.h"
#include "blindfl/app/torch/weighting.h"
#include "blindfl/base/error.h"
#include "blindfl/base/number_text.h"
#include "blindfl/protocol/session/repeatable_scoring.h"
#include "blindfl/train/checkpoint.h"

namespace blindfl::app {

namespace {

protocol::Settings settings_of(const ModelFacts& facts) {
  return protocol::Settings().add("the run in private.run.folder", facts.run).add("step", facts.step);
}

}  // namespace

void ScoringRun::predict(const std::optional<std::filesystem::path>& scores) {
  require<ConfigError>(job_.own.data.score.has_value(),
                       "--data is missing, and so is private.data.score: the file with rows to predict the labels of");
  run(Use::kPredict, *job_.own.data.score, scores);
}

void ScoringRun::evaluate(const std::optional<std::filesystem::path>& scores) {
  require<ConfigError>(job_.own.data.test.has_value(),
                       "--data is missing, and so is private.data.test: the file to measure with");
  run(Use::kEvaluate, *job_.own.data.test, scores);
}

void ScoringRun::run(Use use, const std::filesystem::path& path,
                     const std::optional<std::filesystem::path>& scores_path) {
  const Party party = party_of(job_.own.party);
  const bool is_b = party == Party::kB;
  const std::filesystem::path folder = job_.own.run.folder / "model";
  if (scores_path) require_place(*scores_path, "--scores");
  const ModelFacts facts = load_model_facts(folder);
  require<ConfigError>(facts.party == party, folder.string(),
                       ": holds the other party's shares of the model; check private.party and private.run.folder");
  const run::ModelFacts seen = open_top_facts(facts.shared, facts.shape_a, facts.shape_b);
  require_consent(job_.own, seen, Opens::kScoredRows);
  if (const auto warning = outright_warning(job_.own, seen)) out_ << *warning << "\n" << std::flush;
  // The model is what it was trained as. How rows are found may be another way now.
  job::Job job = job_;
  job.shared = facts.shared;
  job.shared.alignment = job_.shared.alignment;
  Preparation preparation = load_preparation(folder);
  preparation.set_row_memory(Preparation::row_memory_of(job_.own.resources));
  const bool needs_labels = is_b && use == Use::kEvaluate;
  const PreparedRows rows = preparation.read(path, needs_labels ? Labels::kNeeded : Labels::kNone, job_.own.run.folder);
  if (job.shared.alignment.mode != job::AlignmentMode::kAligned) check_ids(rows.ids, path);
  out_ << "read " << plainly_counted(rows.rows->rows(), "row") << "\n";
  if (!rows.filled.empty()) out_ << words_of(rows.filled) << "\n";
  if (is_b && !preparation.classes().empty()) {
    out_ << class_words(job.shared.model, preparation.classes()) << "\n";
  }
  out_ << std::flush;
  const auto file = MarkedFile::of(path, rows.rows->rows());
  const std::uint64_t most = job_.own.limits.scorings;
  if (!is_b) check_scorings(folder, facts.owner(), facts.name(), file.digest, most);

  JobSession connection(job,
                        {.command = use == Use::kPredict ? "predict" : "evaluate",
                         .subject = settings_of(facts),
                         .ledger = {},
                         .keys = train::load_keys(folder)},
                        out_);
  protocol::Session& session = connection.session();
  const KeptAlignments kept(folder, facts.owner(), facts.name());
  const AlignedRows aligned(*rows.rows, align_scored(session, job, rows, file, kept, out_));
  const JobLayers layers = job_layers(job.shared, facts.shape_a, facts.shape_b, facts.rows);
  JobModel model = make_model(session, job.shared.model, layers);
  const protocol::MaskKey masks = load_model(folder, model);
  const protocol::RepeatableScoring repeatable(session, masks);
  if (!is_b) {
    const std::uint64_t count = count_scoring(folder, facts.owner(), facts.name(), file.digest, most);
    out_ << "scoring " << count << " of this file with this model, of " << most << " (private.limits.scorings)\n";
  }
  const torch::Tensor scores = train::score(model.forward, aligned, job.shared.training.batch);
  connection.finish();

  if (!is_b) {
    out_ << "scored " << plainly_counted(aligned.rows(), "row") << "; the scores are B's alone\n";
    return;
  }
  if (use == Use::kEvaluate) {
    const auto evaluation =
        evaluate_scores(model, job_loss(model, {}), scores, aligned.in_order(rows.labels),
                        rows.weights.empty() ? std::vector<double>() : aligned.in_order(rows.weights));
    require<DataError>(evaluation.has_value(), "there are no rows with a label to measure on");
    out_ << "rows " << evaluation->labels.size() << std::fixed << std::setprecision(6);
    for (const run::Measure& value : measure(metrics_of(job.shared.model, job.own.top), *evaluation)) {
      out_ << "\n" << value.name << " " << value.value;
    }
    out_ << "\n";
    const run::ConfusionMatrix confusion = confusion_of(job.shared.model, *evaluation, preparation.classes());
    if (!confusion.empty()) out_ << run::confusion_text(confusion);
  }
  if (scores_path) {
    write_scores(*scores_path, model, scores, aligned.alignment(), rows, preparation.classes());
    out_ << "scores: " << scores_path->string() << "\n";
  }
}

}  // namespace blindfl::app
