#include "blindfl/app/torch/training_end.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <ostream>

#include "blindfl/app/torch/baseline.h"
#include "blindfl/app/torch/kept_alignments.h"
#include "blindfl/app/torch/scored_rows.h"
#include "blindfl/app/torch/scorer.h"
#include "blindfl/app/torch/scores_file.h"
#include "blindfl/app/torch/scoring_counts.h"
#include "blindfl/base/number_text.h"
#include "blindfl/run/loss_trend.h"

namespace blindfl::app {

namespace {

/// A baseline may take as long as training did, and this many seconds in any case.
constexpr double kBaselineSeconds = 60;

void keep_best(const TrainedRun& run) {
  const train::TrainingState& state = run.loop.state();
  if (state.best_step == 0) return;
  std::ostream& out = run.task.out;
  const std::uint64_t epoch = run.loop.epoch_of(state.best_step);
  run.summary.best = {.step = state.best_step, .epoch = epoch};
  run.summary.stopped_early = state.enough;
  if (state.enough) {
    out << "stopped early, after epoch " << run.loop.epoch_of(state.step) << " of " << run.agreed.options.epochs
        << ": validation has not improved for " << state.not_better
        << (state.not_better == 1 ? " epoch\n" : " epochs\n");
  }
  run.loop.keep_best();
  out << "the model of step " << state.best_step << " (epoch " << epoch << ") was the best in validation, and is kept";
  if (state.best) out << ": " << fixed_text(*state.best, 4);
  out << "\n";
}

ModelFacts facts_of(const TrainedRun& run) {
  return {.run = run.summary.run,
          .party = run.task.party(),
          .step = run.loop.kept_step(),
          .rows = run.agreed.alignment.train.size(),
          .trained = run.summary.rows.training,
          .shared = run.agreed.job.shared,
          .shapes_a = run.agreed.shapes_a,
          .shape_b = run.agreed.shape_b,
          .place = run.agreed.place,
          .began = run.agreed.alignment.began};
}

// Whoever evaluates with the same file opens what the test at the end of training opened, and nothing else.
void keep_test(const TrainedRun& run, const ModelFacts& facts) {
  if (!run.rows.test) return;
  const std::filesystem::path& folder = run.folder.model_path();
  const std::optional<MarkedFile>& file = run.agreed.test_file;
  const job::AlignmentMode mode = run.agreed.job.shared.alignment.mode;
  if (file && mode != job::AlignmentMode::kAligned) {
    const protocol::Alignment& alignment = run.agreed.alignment.test.value();
    KeptAlignments(folder, facts.owner(), facts.name())
        .keep(*file, mode, id_of(alignment, "test of run " + facts.run), alignment);
  }
  if (!run.task.is_b()) {
    count_test(folder, facts.owner(), facts.name(), (file ? *file : run.agreed.train_file).digest);
    if (facts.shared.model.shared_top()) {
      count_scored_rows(folder, facts.owner(), facts.name(),
                        scored_ids(run.rows.test->alignment(), run.data.test().ids),
                        std::numeric_limits<std::uint64_t>::max());
    }
  }
}

std::optional<Evaluation> score_test(const TrainedRun& run) {
  if (!run.rows.test) return std::nullopt;
  const job::Job& job = run.agreed.job;
  const AlignedRows& rows = *run.rows.test;
  const auto score = [&] { return train::score(run.built.model.forward, rows, run.agreed.options.batch); };
  const torch::Tensor scores = run.view ? run.view->watch("test", run.loop.kept_step(), score) : score();
  if (!run.task.is_b()) return std::nullopt;
  std::optional<Evaluation> evaluation = evaluate_rows(run.built, scores, rows, run.data.test());
  if (!evaluation) {
    run.task.out << "none of the test rows has a label: nothing is measured\n";
    return std::nullopt;
  }
  const std::vector<std::string>& classes = run.data.preparation.classes();
  run.summary.results = measure(metrics_of(job.shared.model, job.own.top), *evaluation);
  const std::uint64_t step = run.loop.kept_step();
  run.log.measured("test", run.summary.results, {}, train::RunLog::Moment{step, run.loop.epoch_of(step)});
  run.summary.confusion = confusion_of(job.shared.model, *evaluation, classes);
  if (!run.summary.confusion.empty()) run.task.out << run::confusion_text(run.summary.confusion);
  write_scores(run.folder.path() / "test_scores.csv", run.built.model, scores, rows.alignment(), run.data.test(),
               classes);
  return evaluation;
}

void note_loss(const TrainedRun& run) {
  const bool is_last = run.loop.kept_step() == run.loop.state().step;
  run.summary.still_falling = run::still_falling(run::training_losses(run::read_metrics(run.folder.metrics_path())));
  if (is_last && *run.summary.still_falling) {
    run.task.out << "The loss is still falling: train longer (`blindfl resume --epochs N` at " << run.task.everybody()
                 << ", or more than " << run.agreed.options.epochs << " shared.training.epochs)\n";
  }
}

run::RunReport write_report(const TrainedRun& run, const std::optional<Evaluation>& test) {
  const Party party = run.task.party();
  const job::Job& job = run.agreed.job;
  run::RunReport report = training_report({.job = job,
                                           .party = party,
                                           .shapes_a = run.agreed.shapes_a,
                                           .shape_b = run.agreed.shape_b,
                                           .place = run.agreed.place,
                                           .expected = run.agreed.expected,
                                           .model = run.built.model,
                                           .epochs = run.agreed.options.epochs,
                                           .steps = run.loop.steps_here(),
                                           .cost = run.cost},
                                          run.summary, run.connection.channels());
  report.curves = run::curves_of(run::read_metrics(run.folder.metrics_path()));
  if (test) add_curves(job.shared.model, *test, run.data.preparation.classes(), report);
  run.folder.write_report(run::report_html(report));
  return report;
}

void measure_baseline(const TrainedRun& run, const std::optional<Evaluation>& test) {
  const job::Job& job = run.agreed.job;
  const Baseline baseline = train_baseline({.model = job.shared.model,
                                            .shape = run.data.preparation.shape(),
                                            .outputs = run.built.model.outputs,
                                            .loss = run.built.loss,
                                            .training = run.agreed.options,
                                            .steps = run.loop.kept_step(),
                                            .most_seconds = std::max(kBaselineSeconds, run.cost.training_seconds)},
                                           run.rows.training, *run.rows.test);
  if (!baseline.scores.defined()) {
    run.task.out << "B alone: left out, training it would take about " << std::lround(baseline.seconds) << " s\n";
    return;
  }
  const auto evaluation = evaluate_rows(run.built, baseline.scores, *run.rows.test, run.data.test());
  if (evaluation) run.summary.baseline = measure(metrics_of(job.shared.model, job.own.top), *evaluation);
  run.task.out << baseline_text(run.summary);
  run.write_summary(run::RunState::kFinished);
  (void)write_report(run, test);
}

/// Whether a party had finished with this model: none does before B has kept what the test says.
bool was_tested(const TrainedRun& run) {
  if (!run.built.model.shared_top() || !run.rows.test) return false;
  const protocol::Sessions sessions = run.connection.sessions();
  // What was agreed on while the model was built: a step does so, and there was none.
  for (protocol::Session* session : sessions) session->settle();
  const train::StopVote theirs = train::exchange_votes(sessions, run.loop.state().step, {.stop = run.had_finished});
  return run.had_finished || theirs.stop;
}

}  // namespace

void forget_results(run::RunSummary& summary) {
  summary.results.clear();
  summary.baseline.clear();
  summary.confusion = {};
  summary.still_falling.reset();
}

void write_summary(run::RunFolder& folder, run::RunSummary& summary, run::RunState state) {
  summary.state = state;
  if (state != run::RunState::kRunning) {
    summary.ended = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  }
  folder.write_summary(summary);
}

void TrainedRun::write_summary(run::RunState state) const {
  loop.describe(summary);
  app::write_summary(folder, summary, state);
}

std::optional<Evaluation> finish(const TrainedRun& run) {
  const protocol::Sessions sessions = run.connection.sessions();
  const std::filesystem::path folder = run.folder.model_path();
  if (was_tested(run)) {
    run.task.out << "the test's rows have been scored by this model, and are not again: each time would round their "
                    "scores anew\n";
    run.write_summary(run::RunState::kFinished);
    if (!std::filesystem::exists(run.folder.report_path())) (void)write_report(run, std::nullopt);
    return std::nullopt;
  }
  forget_results(run.summary);
  keep_best(run);
  const ModelFacts facts = facts_of(run);
  Random random = (*sessions.begin())->random();
  const auto masks = protocol::MaskKey::draw(random, facts.name());
  save_preparation(folder, run.data.preparation);
  train::save_keys(folder, sessions);
  keep_test(run, facts);
  std::optional<Evaluation> test;
  {
    // Scores of a shared top are rounded anew each time: there is nothing that could repeat.
    std::optional<RepeatingSessions> scope;
    if (!run.built.model.shared_top()) scope.emplace(sessions, masks);
    test = score_test(run);
  }
  save_model(folder, facts, masks, run.built.model);
  run.write_summary(run::RunState::kRunning);
  // Nobody leaves before all have their pieces.
  (void)train::exchange_votes(sessions, run.loop.state().step, {});
  if (run.task.is_b() && !run.built.model.shared_top()) note_loss(run);  // a loss in training that nobody knows
  run.write_summary(run::RunState::kFinished);
  print_costs(write_report(run, test), run.task.out);
  run.task.out << "model: " << folder.string() << "\nreport: " << run.folder.report_path().string() << "\n"
               << std::flush;
  return test;
}

void add_baseline(const TrainedRun& run, const std::optional<Evaluation>& test) {
  const PartyShape& mine = run.data.preparation.shape();
  if (!run.agreed.job.own.top.baseline || !test || mine.numeric + mine.fields.size() == 0) return;
  try {
    measure_baseline(run, test);
  } catch (const std::exception& error) {
    run.task.out << "B alone: left out: " << error.what() << "\n";
  }
}

}  // namespace blindfl::app
