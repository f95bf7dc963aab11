#include "blindfl/app/work/training_run.h"

#include <torch/torch.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <ostream>

#include "blindfl/app/job/kept_job.h"
#include "blindfl/app/open_top.h"
#include "blindfl/app/peer_limits.h"
#include "blindfl/app/run.h"
#include "blindfl/app/work/folder_start.h"
#include "blindfl/app/work/kept_alignments.h"
#include "blindfl/app/work/scores_file.h"
#include "blindfl/app/work/scoring_counts.h"
#include "blindfl/app/work/training_report.h"
#include "blindfl/base/atomic_file.h"
#include "blindfl/base/error.h"
#include "blindfl/base/number_text.h"
#include "blindfl/base/text.h"
#include "blindfl/protocol/repeatable_scoring.h"

namespace blindfl::app {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

/// Steps between two votes to stop.
constexpr std::uint64_t kStepsBetweenWords = 8;

std::chrono::sys_seconds now_in_seconds() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

/// Rows that are kept back for validation, the same at both parties: `validation_share` of all, by chance.
struct Split {
  std::vector<std::uint32_t> training;
  std::vector<std::uint32_t> validation;
};

Split split_rows(std::size_t rows, std::size_t training, std::uint64_t seed) {
  constexpr std::uint64_t kOfSplit = 0x5A11D;  // another order than that of the batches
  std::vector<std::uint32_t> order = data::BatchOrder(rows, rows, seed ^ kOfSplit).batches(1).front();
  Split split;
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(training);
  split.training.assign(order.begin(), middle);
  split.validation.assign(middle, order.end());
  std::ranges::sort(split.training);
  std::ranges::sort(split.validation);
  return split;
}

/// Weights in the order of an alignment, if there are any.
std::vector<double> in_order(const AlignedRows& aligned, const PreparedRows& rows) {
  return rows.weights.empty() ? std::vector<double>() : aligned.in_order(rows.weights);
}

}  // namespace

TrainingRun::TrainingRun(const job::Job& job, Start start, std::ostream& out, ResumeOptions resume)
    : job_(job),
      start_(start),
      resume_(std::move(resume)),
      epochs_(resume_.epochs.value_or(job.shared.training.epochs)),
      out_(out),
      party_(party_of(job.own.party)) {
  require<ConfigError>(job.own.data.train.has_value(), "private.data.train is missing: the file to train on");
}

TrainingRun::~TrainingRun() {
  std::error_code ignored;
  if (early_ledger_) fs::remove(*early_ledger_, ignored);
}

void TrainingRun::run() {
  const auto begin = Clock::now();
  open_folder();
  read_files();
  ask_consent();
  try {
    meet_peer();
    if (!resumed_) begin_folder();
    take_rows();
    make_parts();
    load_or_begin();
    setup_seconds_ = Seconds(Clock::now() - begin).count();
    train();
    if (!stopped_) finish();
    connection_->finish();
  } catch (const std::exception& error) {
    const bool asked = connection_ && connection_->interrupted();
    // A run that was there, and has not been loaded, is what it was.
    if (folder_ && (begun_ || log_)) write_summary(asked ? run::RunState::kInterrupted : run::RunState::kFailed);
    require<Error>(!asked, "stopped; the peer was told. `blindfl resume` continues from the last checkpoint");
    const bool lost = dynamic_cast<const TransportError*>(&error) != nullptr;
    if (lost && folder_ && log_ && !folder_->checkpoints().empty()) fail<TransportError>(error.what(), way_on());
    throw;
  }
  require<Error>(!stopped_, "stopped after step ", state_.step, " of ", trainer_->steps(),
                 "; continue with `blindfl resume` at both parties");
}

std::string TrainingRun::way_on() const {
  const std::string more = resume_.epochs ? " --epochs " + std::to_string(epochs_) : std::string();
  return ". Nothing is lost up to step " + std::to_string(folder_->checkpoints().front().step) + ": `blindfl resume" +
         more + "` at both parties continues there";
}

void TrainingRun::open_folder() {
  const fs::path& path = job_.own.run.folder;
  const fs::path above = fs::absolute(path).parent_path();
  require<ConfigError>(fs::is_directory(above), "private.run.folder: the folder above it, ", above.string(),
                       ", is not there; make it first");
  remove_old_early_ledgers(path);
  const bool is_there = fs::exists(path) && !(fs::is_directory(path) && fs::is_empty(path));
  if (!is_there) return;
  require<ConfigError>(start_ == Start::kResume, path.string(),
                       ": there is something in it already; `blindfl resume` continues a run, and another "
                       "private.run.folder begins a new one");
  if (!fs::exists(path / "summary.json")) {
    require<ConfigError>(fs::is_directory(path) && is_only_begun(path), path.string(),
                         ": is not the folder of a run; name another private.run.folder");
    fs::remove_all(path);
    return;
  }
  summary_ = run::read_summary(path);
  folder_.emplace(run::RunFolder::reopen(path, party_, summary_.run));
  require_same_options(path, job_);
  keys_ = load_keys(path);
  require<ConfigError>(!resume_.epochs || *resume_.epochs <= job_.shared.training.epochs || !keys_,
                       "--epochs: this run updates weights under encryption, in sums with room for the ",
                       job_.shared.training.epochs,
                       " epochs that were planned and no more; start a new run with more epochs, or with "
                       "shared.scheme.update: exchanged");
}

void TrainingRun::read_files() {
  const auto begin = Clock::now();
  const bool prepared = folder_ && fs::exists(folder_->path() / "preparation.bin");
  preparation_.emplace(prepared ? load_preparation(folder_->path()) : Preparation::fit(job_));
  preparation_->set_row_memory(Preparation::row_memory_of(job_.own.resources));
  const Labels labels = is_b() ? Labels::kNeeded : Labels::kNone;
  const fs::path scratch = fs::absolute(job_.own.run.folder).parent_path();
  train_rows_ = preparation_->read(*job_.own.data.train, labels, scratch);
  if (job_.own.data.test) test_rows_.emplace(preparation_->read(*job_.own.data.test, labels, scratch));
  if (job_.shared.alignment.mode != job::AlignmentMode::kAligned) {
    check_ids(train_rows_.ids, *job_.own.data.train);
    if (test_rows_) check_ids(test_rows_->ids, *job_.own.data.test);
  }
  out_ << "read " << plainly_counted(train_rows_.rows->rows(), "row") << " to train on";
  if (test_rows_) out_ << " and " << test_rows_->rows->rows() << " to test on";
  out_ << ": " << words_of(preparation_->shape()) << " (" << seconds_text(Seconds(Clock::now() - begin).count())
       << ")\n";
  tell_about_data();
}

void TrainingRun::tell_about_data() {
  const std::string classes = class_words(job_.shared.model, preparation_->classes());
  if (!classes.empty()) out_ << classes << "\n";
  if (!train_rows_.filled.empty()) out_ << words_of(train_rows_.filled) << "\n";
  if (test_rows_ && !test_rows_->filled.empty()) out_ << "of the test file, " << words_of(test_rows_->filled) << "\n";
  for (const std::string& name : preparation_->constant_columns()) {
    out_ << "column '" << printable(name)
         << "' says the same in all rows of the training file: nothing is learned from it\n";
  }
  out_ << std::flush;
}

// Before the peer is met: B's shape is not known yet, and A need not know it to say no.
void TrainingRun::ask_consent() {
  require_consent(job_.own, open_top_facts(job_.shared, preparation_->shape(), std::nullopt));
  if (const auto warning = seed_warning(job_.own)) out_ << *warning << "\n" << std::flush;
}

void TrainingRun::meet_peer() {
  JobSession::Options options{.command = "train", .ledger = {}, .keys = keys_};
  if (job_.own.run.ledger) {
    if (folder_) {
      options.ledger = folder_->new_ledger_path();
    } else {
      early_ledger_ = early_ledger_path(job_.own.run.folder);
      fs::remove(*early_ledger_);
      options.ledger = early_ledger_;
    }
  }
  connection_ = std::make_unique<JobSession>(job_, options, out_);

  RunOffer mine;
  if (folder_) {
    mine.run = summary_.run;
    for (const run::SavedStep& saved : folder_->checkpoints()) {
      if (mine.steps.size() < RunOffer::kMostSteps) mine.steps.push_back(saved.step);
    }
  }
  agree_on_start(mine, exchange_offers(connection_->session(), mine));
  if (resumed_ || !folder_) return;
  // Nothing was trained yet: both begin anew.
  if (options.ledger) {
    early_ledger_ = early_ledger_path(job_.own.run.folder);
    fs::rename(*options.ledger, *early_ledger_);
  }
  folder_.reset();
  remove_run(job_.own.run.folder);
}

void TrainingRun::agree_on_start(const RunOffer& mine, const RunOffer& theirs) {
  protocol::Session& session = connection_->session();
  session.agree("how far the run goes",
                protocol::Settings().add("resume --epochs, or shared.training.epochs,", std::uint64_t{epochs_}));
  session.settle();
  resumed_ = common_step(mine, theirs);
  require<ConfigError>(resumed_ || !resume_.epochs,
                       "--epochs: nothing was trained yet; set shared.training.epochs of the job instead");
  if (resumed_) confirm_going_back(resume_, mine, theirs, *resumed_);
}

void TrainingRun::begin_folder() {
  summary_ = {};
  summary_.party = party_;
  summary_.run = connection_->session().id();
  summary_.release = release();
  summary_.model = job::Value<job::ModelKind>::write(job_.shared.model.kind);
  summary_.started = now_in_seconds();
  folder_.emplace(run::RunFolder::create(job_.own.run.folder, summary_));
  begun_ = true;
  if (early_ledger_) {
    fs::rename(*early_ledger_, folder_->new_ledger_path());
    early_ledger_.reset();
  }
  write_text_atomically(folder_->path() / "job.yaml", job::kept_text(job_), Readers::kOwner);
  save_preparation(folder_->path(), *preparation_);
}

void TrainingRun::take_rows() {
  protocol::Session& session = connection_->session();
  session.agree("the test file", protocol::Settings().add("private.data.test is given", test_rows_.has_value()));
  session.settle();
  const auto train = MarkedFile::of(*job_.own.data.train, train_rows_.rows->rows());
  if (test_rows_) test_file_ = MarkedFile::of(*job_.own.data.test, test_rows_->rows->rows());
  if (resumed_) {
    alignment_ = load_alignment(folder_->path(), train, test_file_);
  } else {
    alignment_.train = align_rows(session, job_, train_rows_, "training rows", out_);
    if (test_rows_) alignment_.test = align_rows(session, job_, *test_rows_, "test rows", out_);
    save_alignment(folder_->path(), alignment_, train, test_file_);
  }
}

void TrainingRun::make_parts() {
  protocol::Session& session = connection_->session();
  const PartyShape& mine = preparation_->shape();
  theirs_ = exchange_shapes(session, mine);
  check_peer_shape(job_.own.limits, theirs_);
  out_ << "the peer has " << words_of(theirs_) << "\n";
  const run::ModelFacts seen = open_top_facts(job_.shared, is_b() ? theirs_ : mine, is_b() ? mine : theirs_);
  if (const auto warning = outright_warning(job_.own, seen)) out_ << *warning << "\n" << std::flush;
  layers_ = job_layers(job_.shared, is_b() ? theirs_ : mine, is_b() ? mine : theirs_, alignment_.train.size());
  const job::Training& training = job_.shared.training;
  const Split split = split_rows(alignment_.train.size(), layers_->training_rows, training.order_seed);
  protocol::Alignment trained_on = select_places(alignment_.train, split.training);
  if (is_b()) {
    weighting_ = weighting_of(job_, train_rows_, trained_on);
    if (!weighting_.by_class.empty()) out_ << weight_words(preparation_->classes(), weighting_.by_class) << "\n";
  }
  training_.emplace(*train_rows_.rows, std::move(trained_on), weighting_.by_row);
  if (!split.validation.empty()) {
    validation_.emplace(*train_rows_.rows, select_places(alignment_.train, split.validation));
  }

  torch::manual_seed(job_.own.run.weight_seed.value_or(Random().below(std::uint64_t{1} << 62)));
  model_ = make_model(session, job_.shared.model, *layers_);
  for (const std::string& line : protocol::choice_lines(model_.plan)) out_ << line << "\n";
  train::TrainOptions options{
      .epochs = epochs_, .batch = training.batch, .sgd = layers_->sgd, .order_seed = training.order_seed};
  // Layers stay as they were planned, whatever the run is prolonged to.
  if (resume_.epochs && !keys_) options.sgd.steps = epochs_ * layers_->steps_per_epoch;
  if (epochs_ > 2 * training.epochs) {
    out_ << "this run was planned for " << training.epochs << " epochs: with " << epochs_
         << " it opens more values than its hiding was planned for, and each doubling costs one bit of it\n";
  }
  trainer_ = std::make_unique<train::Trainer>(*model_.module, model_.forward, job_loss(model_, weighting_.by_class),
                                              *training_, options);
}

void TrainingRun::check_progress() const {
  require<ConfigError>(*resumed_ <= trainer_->steps(), "the run is at step ", *resumed_, ", after ",
                       *resumed_ / trainer_->steps_per_epoch(), " whole epochs, and ", epochs_, " epochs are ",
                       trainer_->steps(),
                       " steps: say how far it goes with `blindfl resume --epochs N` at both parties");
}

void TrainingRun::load_or_begin() {
  if (resumed_) {
    check_progress();
    state_ = load_checkpoint(*folder_, *resumed_, model_, trainer_->optimizer());
    require<ConfigError>(!resume_.epochs || !state_.enough, "--epochs: early stopping ended this run after step ",
                         state_.step, ", and would again; start a new run with another shared.training.early_stopping");
    trainer_->go_on_after(state_.step);
    sent_before_ = state_.sent;
    received_before_ = state_.received;
    supersede_checkpoints_after(*folder_, state_.step, kept_checkpoints());
    out_ << "resuming after step " << state_.step << " of " << trainer_->steps() << "\n";
  } else {
    checkpoint();
  }
  best_before_ = state_.best_step;
  RunLog::Options options{.progress = job_.own.run.progress && job_.own.run.log != job::LogLevel::kQuiet,
                          .terminal = &out_ == &std::cout && ::isatty(STDOUT_FILENO) == 1,
                          .seconds_before = state_.seconds};
  if (resumed_) {
    const std::uint64_t per_epoch = trainer_->steps_per_epoch();
    options.resumed_after = state_.step;
    options.resumed_epoch = per_epoch > 0 ? (state_.step + per_epoch - 1) / per_epoch : 0;
  }
  log_ = std::make_unique<RunLog>(*folder_, party_, connection_->channel(), out_, options);
  write_summary(run::RunState::kRunning);
}

void TrainingRun::train() {
  connection_->stop_in_order(true);
  const net::TimedChannel& channel = connection_->channel();
  const auto begin = Clock::now();
  const net::Traffic sent_before = net::total(channel.sent());
  const net::Traffic received_before = net::total(channel.received());
  const double waited = channel.seconds_waiting();
  const double sending = channel.seconds_sending();
  const double in_protocol = connection_->session().protocol_time().seconds();
  const auto clip = [&] {
    if (is_b() && job_.own.top.clip_gradient) {
      torch::nn::utils::clip_grad_norm_(model_.module->parameters(), *job_.own.top.clip_gradient);
    }
  };
  const std::size_t every = job_.shared.training.checkpoint_every;
  while (!trainer_->done() && !state_.enough && !stopped_) {
    log_->step(trainer_->take_step(clip));
    ++steps_here_;
    state_.step = trainer_->step();
    const bool epoch_ends = state_.step % trainer_->steps_per_epoch() == 0;
    Word word{.stop = connection_->stop_asked()};
    if (epoch_ends && validation_) validate(word);
    if (epoch_ends || state_.step % kStepsBetweenWords == 0) {
      note_word(word, exchange_words(connection_->session(), state_.step, word));
    }
    const bool due = every > 0 && state_.step % every == 0;
    if (due || epoch_ends || stopped_) checkpoint();
  }
  connection_->stop_in_order(false);
  training_seconds_ = Seconds(Clock::now() - begin).count();
  waiting_ = channel.seconds_waiting() - waited;
  sending_ = channel.seconds_sending() - sending;
  in_protocol_ = connection_->session().protocol_time().seconds() - in_protocol;
  trained_sent_ = {.messages = 0, .bytes = net::total(channel.sent()).bytes - sent_before.bytes};
  trained_received_ = {.messages = 0, .bytes = net::total(channel.received()).bytes - received_before.bytes};
  if (stopped_) write_summary(run::RunState::kInterrupted);
}

void TrainingRun::validate(Word& word) {
  const torch::Tensor scores = train::score(model_.forward, *validation_, job_.shared.training.batch);
  if (!is_b()) return;
  const Judged judged =
      judge(model_, scores, validation_->in_order(train_rows_.labels), in_order(*validation_, train_rows_));
  const auto metrics = metrics_of(job_.shared.model, job_.own.top);
  const std::vector<run::Measure> measures = measure(metrics, judged);
  log_->measured("validation", measures);
  const job::EarlyStopping& stopping = job_.shared.training.early_stopping;
  if (stopping.patience == 0) return;
  // What cannot be measured is no better than what can.
  const bool can = !measures.empty() && measures.front().name == job::Value<job::Metric>::write(metrics.front());
  const double value = can ? measures.front().value : judged.loss;
  const double sign = can && larger_is_better(metrics.front()) ? 1 : -1;
  word.better = !state_.best || sign * (value - *state_.best) > stopping.minimum_improvement;
  if (word.better) state_.best = value;
  word.enough = !word.better && state_.not_better + 1 >= stopping.patience;
}

void TrainingRun::note_word(const Word& mine, const Word& theirs) {
  stopped_ = mine.stop || theirs.stop;
  const bool epoch_ends = state_.step % trainer_->steps_per_epoch() == 0;
  if (!epoch_ends || job_.shared.training.early_stopping.patience == 0) return;
  const Word& of_b = is_b() ? mine : theirs;
  state_.not_better = of_b.better ? 0 : state_.not_better + 1;
  if (of_b.better) state_.best_step = state_.step;
  state_.enough = of_b.enough;
}

// What a killed process did after its last checkpoint is done again, and counts once.
void TrainingRun::count_traffic() {
  const net::TimedChannel& channel = connection_->channel();
  state_.sent = sent_before_ + net::total(channel.sent());
  state_.received = received_before_ + net::total(channel.received());
}

void TrainingRun::checkpoint() {
  state_.step = trainer_->step();
  if (log_) state_.seconds = log_->seconds();
  count_traffic();
  // Keys of a scheme are made at its first use, and stay.
  if (const std::size_t keys = connection_->session().keys_to_save(); keys > keys_saved_) {
    save_keys(folder_->path(), connection_->session());
    keys_saved_ = keys;
  }
  save_checkpoint(*folder_, state_, model_, trainer_->optimizer());
  // The peer may be one checkpoint behind: what it needs then stays as well.
  remove_checkpoints(*folder_, kept_checkpoints(), {state_.best_step, best_before_});
  best_before_ = state_.best_step;
}

void TrainingRun::finish() {
  if (state_.best_step > 0 && state_.best_step != state_.step) {
    (void)load_checkpoint(*folder_, state_.best_step, model_, trainer_->optimizer());
    out_ << "the model of step " << state_.best_step << " was the best in validation, and is kept\n";
  }
  const ModelFacts facts = this->facts();
  const auto masks = protocol::MaskKey::draw(connection_->session().random(), facts.name());
  save_preparation(folder_->model_path(), *preparation_);
  save_keys(folder_->model_path(), connection_->session());
  keep_test(facts);
  std::optional<Judged> judged;
  {
    const protocol::RepeatableScoring scope(connection_->session(), masks);
    judged = score_test();
  }
  save_model(folder_->model_path(), facts, masks, model_);
  // Nobody leaves before both have their pieces.
  (void)exchange_words(connection_->session(), state_.step, {});
  write_summary(run::RunState::kFinished);
  write_report(judged);
  out_ << "model: " << folder_->model_path().string() << "\nreport: " << folder_->report_path().string() << "\n"
       << std::flush;
}

// Whoever evaluates with the same file opens what the test at the end of training opened, and nothing else.
void TrainingRun::keep_test(const ModelFacts& facts) const {
  if (!test_file_) return;
  const job::AlignmentMode mode = job_.shared.alignment.mode;
  if (mode != job::AlignmentMode::kAligned) {
    const KeptAlignments kept(folder_->model_path(), facts.owner(), facts.name());
    kept.keep(*test_file_, mode, alignment_id("test of run " + facts.run), *alignment_.test);
  }
  if (!is_b()) {
    (void)count_scoring(folder_->model_path(), facts.owner(), facts.name(), test_file_->digest,
                        job_.own.limits.scorings);
  }
}

ModelFacts TrainingRun::facts() const {
  const PartyShape& mine = preparation_->shape();
  return {.run = summary_.run,
          .party = party_,
          .step = state_.best_step > 0 ? state_.best_step : state_.step,
          .rows = alignment_.train.size(),
          .shared = job_.shared,
          .shape_a = is_b() ? theirs_ : mine,
          .shape_b = is_b() ? mine : theirs_};
}

std::optional<Judged> TrainingRun::score_test() {
  if (!test_rows_) return std::nullopt;
  const AlignedRows rows(*test_rows_->rows, *alignment_.test);
  const torch::Tensor scores = train::score(model_.forward, rows, job_.shared.training.batch);
  if (!is_b()) return std::nullopt;
  Judged judged = judge(model_, scores, rows.in_order(test_rows_->labels), in_order(rows, *test_rows_));
  const auto measures = measure(metrics_of(job_.shared.model, job_.own.top), judged);
  log_->measured("test", measures);
  summary_.results = measures;
  write_scores(folder_->path() / "test_scores.csv", model_, scores, rows.alignment(), *test_rows_,
               preparation_->classes());
  return judged;
}

void TrainingRun::write_summary(run::RunState state) {
  summary_.state = state;
  if (state != run::RunState::kRunning) summary_.ended = now_in_seconds();
  summary_.steps = state_.step;
  summary_.epochs = trainer_ && trainer_->steps_per_epoch() > 0 ? state_.step / trainer_->steps_per_epoch() : 0;
  summary_.seconds = log_ ? log_->seconds() : state_.seconds;
  if (connection_) count_traffic();
  summary_.sent = state_.sent;
  summary_.received = state_.received;
  folder_->write_summary(summary_);
}

void TrainingRun::write_report(const std::optional<Judged>& judged) {
  job::Job effective = job_;
  effective.shared.training.epochs = epochs_;
  run::RunReport report = training_report({.job = effective,
                                           .party = party_,
                                           .mine = preparation_->shape(),
                                           .theirs = theirs_,
                                           .rows = alignment_.train.size(),
                                           .model = model_,
                                           .steps = steps_here_,
                                           .setup_seconds = setup_seconds_,
                                           .training_seconds = training_seconds_,
                                           .waiting = waiting_,
                                           .sending = sending_,
                                           .in_protocol = in_protocol_,
                                           .bytes_sent = trained_sent_.bytes,
                                           .bytes_received = trained_received_.bytes},
                                          summary_, connection_->channel());
  report.curves = run::curves_of(run::read_metrics(folder_->metrics_path()));
  if (state_.best_step > 0) {
    report.best = run::BestEpoch{.epoch = state_.best_step / trainer_->steps_per_epoch(), .step = state_.best_step};
  }
  if (judged && is_b()) add_curves(job_.shared.model, *judged, preparation_->classes(), report);
  folder_->write_report(run::report_html(report));
  print_costs(report, out_);
}

}  // namespace blindfl::app
