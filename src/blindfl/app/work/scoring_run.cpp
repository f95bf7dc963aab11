#include "blindfl/app/work/scoring_run.h"

#include <torch/torch.h>

#include <iomanip>
#include <ostream>

#include "blindfl/app/work/aligned_rows.h"
#include "blindfl/app/work/job_session.h"
#include "blindfl/app/work/measures.h"
#include "blindfl/app/work/run_files.h"
#include "blindfl/app/work/scores_file.h"
#include "blindfl/base/error.h"
#include "blindfl/protocol/repeatable_scoring.h"

namespace blindfl::app {

namespace {

protocol::Settings settings_of(const ModelFacts& facts) {
  return protocol::Settings().add("the run in private.run.folder", facts.run).add("step", facts.step);
}

}  // namespace

void ScoringRun::predict(const std::optional<std::filesystem::path>& scores) {
  require<ConfigError>(job_.own.data.score.has_value(),
                       "private.data.score is missing: the file with rows to predict the labels of");
  run(Use::kPredict, *job_.own.data.score, scores);
}

void ScoringRun::evaluate(const std::optional<std::filesystem::path>& scores) {
  require<ConfigError>(job_.own.data.test.has_value(), "private.data.test is missing: the file to measure with");
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
  // The model is what it was trained as. How rows are found may be another way now.
  job::Job job = job_;
  job.shared = facts.shared;
  job.shared.alignment = job_.shared.alignment;
  Preparation preparation = load_preparation(folder);
  preparation.set_row_memory(Preparation::row_memory_of(job_.own.resources));
  const bool needs_labels = is_b && use == Use::kEvaluate;
  const PreparedRows rows = preparation.read(path, needs_labels ? Labels::kNeeded : Labels::kNone, job_.own.run.folder);
  if (job.shared.alignment.mode != job::AlignmentMode::kAligned) check_ids(rows.ids, path);
  out_ << "read " << rows.rows->rows() << " rows\n" << std::flush;

  JobSession connection(job,
                        {.command = use == Use::kPredict ? "predict" : "evaluate",
                         .subject = settings_of(facts),
                         .ledger = {},
                         .keys = load_keys(folder)},
                        out_);
  protocol::Session& session = connection.session();
  const AlignedRows aligned(*rows.rows, align_rows(session, job.shared, rows, "rows to score", out_));
  const JobLayers layers = job_layers(job.shared, facts.shape_a, facts.shape_b, facts.rows);
  JobModel model = make_model(session, job.shared.model, layers);
  const protocol::MaskKey masks = load_model(folder, model);
  const protocol::RepeatableScoring repeatable(session, masks);
  const torch::Tensor scores = train::score(model.forward, aligned, job.shared.training.batch);
  connection.finish();

  if (!is_b) {
    out_ << "scored " << aligned.rows() << " rows; the scores are B's alone\n";
    return;
  }
  if (use == Use::kEvaluate) {
    const auto judged = judge(model, job_loss(model, job.own.top), scores, aligned.in_order(rows.labels));
    require<DataError>(judged.has_value(), "there are no rows with a label to measure on");
    out_ << "rows " << judged->labels.size() << std::fixed << std::setprecision(6);
    for (const run::Measure& value : measure(metrics_of(job.shared.model, job.own.top), *judged)) {
      out_ << "\n" << value.name << " " << value.value;
    }
    out_ << "\n";
    const run::ConfusionMatrix confusion = confusion_of(job.shared.model, *judged, preparation.classes());
    if (!confusion.empty()) out_ << run::confusion_text(confusion);
  }
  if (scores_path) {
    write_scores(*scores_path, model, scores, aligned.alignment(), rows, preparation.classes());
    out_ << "scores: " << scores_path->string() << "\n";
  }
}

}  // namespace blindfl::app
