#include "blindfl/app/torch/scoring_run.h"

#include <torch/torch.h>

#include <ostream>

#include "blindfl/app/job/check.h"
#include "blindfl/app/plan/open_top.h"
#include "blindfl/app/torch/aligned_rows.h"
#include "blindfl/app/torch/job_session.h"
#include "blindfl/app/torch/kept_alignments.h"
#include "blindfl/app/torch/measures.h"
#include "blindfl/app/torch/resume_options.h"
#include "blindfl/app/torch/scored_rows.h"
#include "blindfl/app/torch/scorer.h"
#include "blindfl/app/torch/scores_file.h"
#include "blindfl/app/torch/scoring_counts.h"
#include "blindfl/app/torch/weighting.h"
#include "blindfl/base/error.h"
#include "blindfl/base/number_text.h"

namespace blindfl::app {

namespace {

namespace fs = std::filesystem;

/// A file that is about to be scored, and the model that does it.
struct ScoringTask {
  LoadedModel loaded;
  job::Job job;  ///< as the model was trained
  PreparedRows rows;
  MarkedFile file;

  [[nodiscard]] bool is_b() const { return loaded.facts.party == Party::kB; }
};

ScoringLimit limit_of(const ScoringTask& task) {
  const job::Model& model = task.loaded.facts.shared.model;
  return {.most = task.job.own.limits.scorings_of(model),
          .repeats = model.shared_top() ? Repeats::kRoundedAnew : Repeats::kSame};
}

/// What a party does before it meets the peer: A is asked, and the file is read.
ScoringTask prepare_scoring(const job::Job& job, const fs::path& path, Labels labels_of_b,
                            const std::optional<fs::path>& scores_path, std::ostream& out) {
  if (scores_path) require_place(*scores_path, "--scores");
  ScoringTask task{.loaded = LoadedModel::from(job.own.run.folder, job.own.party), .job = job, .rows = {}, .file = {}};
  const ModelFacts& facts = task.loaded.facts;
  const run::DisclosureFacts seen =
      open_top_facts(facts.shared, facts.shapes_a, facts.shape_b, place_among_as(facts.party, facts.place));
  require_consent(job.own, seen, Opens::kScoredRows);
  for (const std::string& warning : part_warnings(job.own, seen)) out << warning << "\n" << std::flush;
  require_same_as(facts.shapes_a.names(), job, "the model was trained", "all that trained it score with it");
  // The model is what it was trained as. How rows are found may be another way now.
  task.job.shared = facts.shared;
  task.job.shared.alignment = job.shared.alignment;
  if (const auto refusal = job::refused_by_shared_top(task.job.shared, nullptr)) {
    fail<ConfigError>(refusal->key, ": ", refusal->words);
  }
  if (task.is_b() && facts.shared.model.shared_top()) {
    out << "shared top: scores are rounded to " << facts.shared.model.score_bits
        << " fractional bits, each time anew; score a row once per model\n";
  }
  Preparation& preparation = task.loaded.preparation;
  preparation.set_row_memory(job::row_memory_of(job.own.resources));
  task.rows = preparation.read(path, task.is_b() ? labels_of_b : Labels::kNone, job.own.run.folder);
  if (job.shared.alignment.mode != job::AlignmentMode::kAligned) check_ids(task.rows.ids, path);
  out << "read " << plainly_counted(task.rows.rows->rows(), "row") << "\n";
  if (!task.rows.filled.empty()) out << words_of(task.rows.filled) << "\n";
  if (task.is_b() && !preparation.classes().empty()) {
    out << class_words(facts.shared.model, preparation.classes()) << "\n";
  }
  out << std::flush;
  task.file = {path, task.rows.rows->rows(), task.rows.digest};
  if (!task.is_b()) {
    check_scorings(task.loaded.folder, facts.owner(), facts.name(), task.file.digest, limit_of(task));
  }
  return task;
}

/// The scores of a task's file. What it is made with must outlive it.
class ScoredFile {
 public:
  ScoredFile(const ScoringTask& task, JobSession& connection, std::ostream& out)
      : aligned(*task.rows.rows, alignment_of(task, connection, out)),
        scorer(connection.sessions(), task.loaded),
        scores(counted(task, out).score(aligned)) {
    connection.finish();
  }

  AlignedRows aligned;
  Scorer scorer;
  torch::Tensor scores;  ///< at B

 private:
  static protocol::Alignment alignment_of(const ScoringTask& task, JobSession& connection, std::ostream& out) {
    const ModelFacts& facts = task.loaded.facts;
    (void)connection.agree_between_as(facts.run, facts.began);
    const KeptAlignments kept(task.loaded.folder, facts.owner(), facts.name());
    return align_scored(connection.sessions(), connection.aligned_peers(), task.job, task.rows, task.file, kept,
                        connection.id(), out);
  }
  /// A counts before anything is opened.
  const Scorer& counted(const ScoringTask& task, std::ostream& out) const {
    if (task.is_b()) return scorer;
    const ModelFacts& facts = task.loaded.facts;
    const ScoringLimit limit = limit_of(task);
    if (limit.repeats == Repeats::kRoundedAnew) {
      count_scored_rows(task.loaded.folder, facts.owner(), facts.name(), scored_ids(aligned.alignment(), task.rows.ids),
                        limit.most);
    }
    const std::uint64_t count = count_scoring(task.loaded.folder, facts.owner(), facts.name(), task.file.digest, limit);
    out << "scoring " << count << " of this file with this model, of " << limit.most << " (private.limits.scorings)\n";
    return scorer;
  }
};

ScoredFile score(const ScoringTask& task, JobSession& connection, std::ostream& out) {
  return connection.telling([&] { return ScoredFile(task, connection, out); });
}

JobSession::Options options_of(const ScoringTask& task, const std::string& command) {
  return {.command = command, .subject = task.loaded.settings(), .ledgers = {}, .keys = task.loaded.keys};
}

void tell_count(const ScoredFile& scored, std::ostream& out) {
  out << "scored " << plainly_counted(scored.aligned.rows(), "row") << "; the scores are B's alone\n";
}

void write(const fs::path& path, const ScoringTask& task, const ScoredFile& scored, std::ostream& out) {
  write_scores(path, scored.scorer.model(), scored.scores, scored.aligned.alignment(), task.rows,
               task.loaded.preparation.classes());
  out << "scores: " << path.string() << "\n";
}

void print_quality(const ScoringTask& task, const ScoredFile& scored, std::ostream& out) {
  const JobModel& model = scored.scorer.model();
  const job::Model& kind = task.job.shared.model;
  const auto evaluation =
      evaluate_scores(model, job_loss(model, {}), scored.scores, scored.aligned.in_order(task.rows.labels),
                      task.rows.weights.empty() ? std::vector<double>() : scored.aligned.in_order(task.rows.weights),
                      scored.aligned.alignment().real);
  require<DataError>(evaluation.has_value(), "there are no rows with a label to measure on");
  out << "rows " << evaluation->labels.size();
  for (const run::Measure& value : measure(metrics_of(kind, task.job.own.top), *evaluation)) {
    out << "\n" << value.name << " " << fixed_text(value.value, 6);
  }
  out << "\n";
  const run::ConfusionMatrix confusion = confusion_of(kind, *evaluation, task.loaded.preparation.classes());
  if (!confusion.empty()) out << run::confusion_text(confusion);
}

}  // namespace

void predict(const job::Job& job, const std::optional<fs::path>& scores, std::ostream& out) {
  require<ConfigError>(job.own.data.score.has_value(),
                       "--data is missing, and so is private.data.score: the file with rows to predict the labels of");
  const ScoringTask task = prepare_scoring(job, *job.own.data.score, Labels::kNone, scores, out);
  JobSession connection(task.job, options_of(task, "predict"), out);
  const ScoredFile scored = score(task, connection, out);
  if (!task.is_b()) return tell_count(scored, out);
  if (scores) write(*scores, task, scored, out);
}

void evaluate(const job::Job& job, const std::optional<fs::path>& scores, std::ostream& out) {
  require<ConfigError>(job.own.data.test.has_value(),
                       "--data is missing, and so is private.data.test: the file to measure with");
  const ScoringTask task = prepare_scoring(job, *job.own.data.test, Labels::kNeeded, scores, out);
  JobSession connection(task.job, options_of(task, "evaluate"), out);
  const ScoredFile scored = score(task, connection, out);
  if (!task.is_b()) return tell_count(scored, out);
  print_quality(task, scored, out);
  if (scores) write(*scores, task, scored, out);
}

}  // namespace blindfl::app
