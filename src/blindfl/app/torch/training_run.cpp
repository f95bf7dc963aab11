#include "blindfl/app/torch/training_run.h"

#include <torch/torch.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <ostream>

#include "blindfl/app/plan/open_top.h"
#include "blindfl/app/torch/training_end.h"
#include "blindfl/base/error.h"
#include "blindfl/nn/range_watcher.h"

namespace blindfl::app {

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

void check_job(const job::Job& job) {
  require<ConfigError>(job.own.data.train.has_value(), "private.data.train is missing: the file to train on");
  require<ConfigError>(!job.own.data.test || job.shared.training.test_share.value_or(0) == 0,
                       "shared.training.test_share is for jobs without a test file, and private.data.test names one; "
                       "leave out one of them");
}

// Before the peer is met: B's shape is not known yet, and A need not know it to say no.
void ask_consent(const TrainingTask& task, const Preparation& preparation) {
  require_consent(task.job.own, open_top_facts(task.job, preparation.shape()));
  if (const auto warning = seed_warning(task.job.own)) task.out << *warning << "\n" << std::flush;
}

/// Of a new run that fails before its first step nothing is kept, so that it can be started again once it is mended.
/// Where its user stops it, the folder says so.
class NewRun {
 public:
  NewRun(train::StartedRun& run, JobSession& connection) : run_(run), connection_(connection) {}
  NewRun(const NewRun&) = delete;
  NewRun& operator=(const NewRun&) = delete;
  ~NewRun() {
    if (begun_ || run_.resumed) return;
    try {
      if (!connection_.interrupted()) {
        train::remove_run(run_.folder.path());
        return;
      }
      run::RunSummary summary = run_.folder.summary();
      summary.sent = connection_.sent();
      summary.received = connection_.received();
      write_summary(run_.folder, summary, run::RunState::kInterrupted);
    } catch (const std::exception&) {  // what went wrong before is what matters
    }
  }
  void begin() { begun_ = true; }

 private:
  train::StartedRun& run_;
  JobSession& connection_;
  bool begun_ = false;
};

/// `body()`, whose time and traffic is added to `cost`.
template <class Body>
auto counted_in(ValidationCost& cost, const JobSession& connection, Body&& body) {
  const auto begin = Clock::now();
  const auto sent = [&] { return connection.sent().bytes; };
  const auto received = [&] { return connection.received().bytes; };
  cost.bytes_sent -= sent();
  cost.bytes_received -= received();
  auto made = body();
  cost.bytes_sent += sent();
  cost.bytes_received += received();
  cost.seconds += Seconds(Clock::now() - begin).count();
  return made;
}

/// This party's view, where its job wants it kept.
std::optional<ViewKeeper> view_keeper(const TrainingTask& task, const train::StartedRun& run, const BuiltModel& built) {
  if (!task.job.own.run.keep_view) return std::nullopt;
  std::optional<ViewKeeper> view;
  view.emplace(run.folder, built.model);
  if (!run.resumed) view->keep_start();
  return view;
}

train::LoopOptions loop_options(const TrainingTask& task, const PreparedData& data, const AgreedRun& agreed,
                                const RunRows& rows, const BuiltModel& built, JobSession& connection,
                                ValidationCost& cost, const std::optional<ViewKeeper>& view,
                                const train::Trainer& trainer) {
  const job::Training& training = agreed.job.shared.training;
  train::LoopOptions options;
  options.checkpoint_every = training.checkpoint_every;
  options.keep = task.job.own.run.keep;
  options.early_stopping = {.patience = training.early_stopping.patience,
                            .minimum_improvement = training.early_stopping.minimum_improvement};
  if (rows.validation) {
    options.validate = [&] {
      const auto validated = [&] { return validate(data, agreed, rows, built); };
      return counted_in(cost, connection,
                        [&] { return view ? view->watch("validation", trainer.step(), validated) : validated(); });
    };
  }
  if (const auto most = task.job.own.top.clip_gradient; most && task.is_b()) {
    options.before_step = [&built, most] {
      torch::nn::utils::clip_grad_norm_(built.model.module->parameters(), *most);
    };
  }
  options.stop_asked = [&connection] { return connection.stop_asked(); };
  return options;
}

/// Shares of products that are kept are as secret as checkpoints, and lie beside them where they are too large.
protocol::KeepOptions keep_options(const TrainingTask& task, const run::RunFolder& folder) {
  constexpr std::size_t kWorthTelling = 50'000;
  protocol::KeepOptions options;
  options.most_memory = job::row_memory_of(task.job.own.resources);
  options.folder = folder.path();
  options.observer = [&out = task.out, tenth = std::size_t{0}](std::size_t done, std::size_t rows) mutable {
    if (rows < kWorthTelling || done * 10 / rows == tenth) return;
    tenth = done * 10 / rows;
    out << "products of B's features, once for all rows: " << tenth * 10 << " %\n" << std::flush;
  };
  return options;
}

void check_progress(const train::StartedRun& run, const train::Trainer& trainer, const AgreedRun& agreed) {
  if (!run.resumed) return;
  require<ConfigError>(*run.resumed <= trainer.steps(), "the run is at step ", *run.resumed, ", after ",
                       *run.resumed / trainer.steps_per_epoch(), " whole epochs, and ", agreed.options.epochs,
                       " epochs are ", trainer.steps(),
                       " steps: say how far it goes with `blindfl resume --epochs N` at both parties");
}

train::RunLog::Options log_options(const TrainingTask& task, const train::StartedRun& run,
                                   const train::TrainingLoop& loop, const JobSession& connection) {
  train::RunLog::Options options;
  options.progress = task.job.own.run.progress && task.job.own.run.log != job::LogLevel::kQuiet;
  options.terminal = &task.out == &std::cout && ::isatty(STDOUT_FILENO) == 1;
  options.seconds_before = loop.state().seconds;
  options.resumed_after = run.resumed;
  options.resumed_epoch = loop.epoch_of(loop.state().step);
  options.seconds_waiting = [&connection] { return connection.seconds_waiting() + connection.seconds_sending(); };
  return options;
}

/// Trains to the end, or to where somebody stops it.
TrainingCost train_steps(JobSession& connection, train::TrainingLoop& loop, train::RunLog& log) {
  connection.stop_in_order(true);
  const auto now = [&] {
    return TrainingCost{.training_seconds = Seconds(Clock::now().time_since_epoch()).count(),
                        .waiting = connection.seconds_waiting(),
                        .sending = connection.seconds_sending(),
                        .in_protocol = connection.seconds_in_protocol(),
                        .bytes_sent = connection.sent().bytes,
                        .bytes_received = connection.received().bytes};
  };
  const TrainingCost before = now();
  loop.run(&log);
  connection.stop_in_order(false);
  const TrainingCost after = now();
  return {.training_seconds = after.training_seconds - before.training_seconds,
          .waiting = after.waiting - before.waiting,
          .sending = after.sending - before.sending,
          .in_protocol = after.in_protocol - before.in_protocol,
          .bytes_sent = after.bytes_sent - before.bytes_sent,
          .bytes_received = after.bytes_received - before.bytes_received};
}

void train_and_finish(const TrainedRun& run, TrainingCost& cost, const ValidationCost& validation) {
  const double setup_seconds = cost.setup_seconds;
  const auto begin = Clock::now();
  run.loop.keep_products();
  const double keeping_seconds = Seconds(Clock::now() - begin).count();
  cost = train_steps(run.connection, run.loop, run.log);
  cost.setup_seconds = setup_seconds + keeping_seconds;
  cost.validation = validation;
  std::optional<Evaluation> test;
  if (run.loop.stopped()) {
    run.write_summary(run::RunState::kInterrupted);
  } else {
    test = finish(run);
  }
  run.connection.finish();
  if (!run.loop.stopped() && run.task.is_b()) {
    // The peers need not wait for what follows.
    run.connection.close();
    add_baseline(run, test);
  }
}

[[noreturn]] void fail_resumably(const TransportError& error, const TrainedRun& run) {
  const std::string more =
      run.task.resume.epochs ? " --epochs " + std::to_string(run.agreed.options.epochs) : std::string();
  fail<TransportError>(error.what(), ". Nothing is lost up to step ", run.folder.checkpoints().front().step,
                       ": `blindfl resume", more, "` at ", run.task.everybody(), " continues there");
}

/// A run resumes with the options that it began with, and would leave its range again.
[[noreturn]] void fail_out_of_range(const nn::OutOfRange& error, const TrainedRun& run) {
  const auto checkpoints = run.folder.checkpoints();
  fail<nn::OutOfRange>(error.what(), ". The checkpoint of step ", checkpoints.empty() ? 0 : checkpoints.front().step,
                       " is from before, and stays; a run resumes with the options that it began with: for others, "
                       "start a new one (another private.run.folder) at both parties");
}

/// Where a run ended that may have been stopped.
struct Ending {
  bool stopped = false;
  std::uint64_t step = 0;
  std::uint64_t steps = 0;
};

Ending run_from(const TrainingTask& task, const PreparedData& data, JobSession& connection, train::StartedRun& run,
                LedgerPlace& ledger, bool keeps_keys, Clock::time_point begin) {
  NewRun unbegun(run, connection);
  if (!run.resumed) save_beginning(task, run.folder, data.preparation, ledger);
  const protocol::Sessions sessions = connection.sessions();
  const AgreedRun agreed = agree_on_run(task, connection, data, run, keeps_keys);
  const RunRows rows(task, data, agreed);
  const BuiltModel built = build_model(task, sessions, data, agreed, rows);
  train::TrainOptions options = agreed.options;
  options.most_for_placeholders = rows.weighting.most_for_placeholders;
  options.kept = keep_options(task, run.folder);
  const LossRows scaled(rows.training, built.model.labels, rows.weighting.by_class);
  train::Trainer trainer =
      built.model.shared_top()
          ? train::Trainer(*built.model.module, built.model.learner->step(), scaled, options)
          : train::Trainer(*built.model.module, built.model.forward, built.loss, rows.training, options);
  check_progress(run, trainer, agreed);
  ValidationCost validation;
  const std::optional<ViewKeeper> view = view_keeper(task, run, built);
  train::TrainingLoop loop(run, *built.model.module, trainer,
                           loop_options(task, data, agreed, rows, built, connection, validation, view, trainer));
  require<ConfigError>(!task.resume.epochs || !loop.state().enough,
                       "--epochs: early stopping ended this run after step ", loop.state().step,
                       ", and would again; start a new run with another shared.training.early_stopping");
  if (run.resumed) task.out << "resuming after step " << loop.state().step << " of " << trainer.steps() << "\n";
  train::RunLog log(run.folder, sessions, task.out, log_options(task, run, loop, connection));
  unbegun.begin();

  run::RunSummary summary = run.folder.summary();
  summary.rows = rows.counts;
  const bool nothing_left = run.resumed && (loop.state().enough || loop.state().step == trainer.steps());
  const bool had_finished = built.model.shared_top() && nothing_left && summary.state == run::RunState::kFinished;
  if (!(built.model.shared_top() && nothing_left)) forget_results(summary);
  TrainingCost cost{.setup_seconds = Seconds(Clock::now() - begin).count()};
  const TrainedRun trained{task,       data,       agreed, rows, built,   view,        cost,
                           connection, run.folder, loop,   log,  summary, had_finished};
  if (!had_finished) trained.write_summary(run::RunState::kRunning);
  try {
    train_and_finish(trained, cost, validation);
  } catch (const std::exception& error) {
    const auto* out = dynamic_cast<const nn::OutOfRange*>(&error);
    if (out != nullptr) ++summary.range_checks.outside;
    if (!had_finished) {
      trained.write_summary(connection.interrupted() ? run::RunState::kInterrupted : run::RunState::kFailed);
    }
    const auto* lost = dynamic_cast<const TransportError*>(&error);
    if (lost != nullptr && !run.folder.checkpoints().empty()) fail_resumably(*lost, trained);
    if (out != nullptr) fail_out_of_range(*out, trained);
    throw;
  }
  return {.stopped = loop.stopped(), .step = loop.state().step, .steps = trainer.steps()};
}

}  // namespace

void run_training(const TrainingTask& task) {
  const auto begin = Clock::now();
  check_job(task.job);
  OpenedRun opened = open_folder(task);
  const PreparedData data = read_files(task, opened);
  ask_consent(task, data.preparation);
  LedgerPlace ledger(task.job.own.run.ledger, task.job.own.run.folder, task.job.own.link, opened.folder);
  JobSession connection(task.job, {.command = "train", .ledgers = ledger.paths(), .keys = opened.keys}, task.out);
  Ending ending;
  try {
    const bool keeps_keys = std::ranges::any_of(opened.keys, [](const auto& each) { return each != nullptr; });
    ending = connection.telling([&] {
      train::StartedRun run = start_run(task, connection.sessions(), std::move(opened), ledger);
      return run_from(task, data, connection, run, ledger, keeps_keys, begin);
    });
  } catch (const std::exception&) {
    require<Error>(!connection.interrupted(),
                   "stopped; the peer was told. `blindfl resume` continues from the last checkpoint");
    throw;
  }
  require<Error>(!ending.stopped, "stopped after step ", ending.step, " of ", ending.steps,
                 "; continue with `blindfl resume` at ", task.everybody());
}

}  // namespace blindfl::app
