#include "blindfl/app/torch/training_run.h"

#include <torch/torch.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <limits>
#include <ostream>
#include <sstream>

#include "blindfl/app/commands/run.h"
#include "blindfl/app/job/kept_job.h"
#include "blindfl/app/plan/estimate.h"
#include "blindfl/app/plan/open_top.h"
#include "blindfl/app/plan/peer_limits.h"
#include "blindfl/app/torch/baseline.h"
#include "blindfl/app/torch/early_ledger.h"
#include "blindfl/app/torch/kept_alignments.h"
#include "blindfl/app/torch/row_split.h"
#include "blindfl/app/torch/scores_file.h"
#include "blindfl/app/torch/scoring_counts.h"
#include "blindfl/app/torch/training_report.h"
#include "blindfl/base/atomic_file.h"
#include "blindfl/base/error.h"
#include "blindfl/base/number_text.h"
#include "blindfl/base/text.h"
#include "blindfl/he/plan.h"
#include "blindfl/protocol/plan/plan_words.h"
#include "blindfl/protocol/session/repeatable_scoring.h"
#include "blindfl/run/loss_trend.h"

namespace blindfl::app {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

/// Steps between two votes to stop.
constexpr std::uint64_t kStepsBetweenVotes = 8;

std::chrono::sys_seconds now_in_seconds() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

/// Checkpoints of a whole run, about, where there are more epochs than anybody wants to go back to.
constexpr std::size_t kCheckpoints = 100;

/// A baseline may take as long as training did, and this many seconds in any case.
constexpr double kBaselineSeconds = 60;

std::string decimal(double value) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(4) << value;
  return text.str();
}

/// Weights in the order of an alignment, if there are any.
std::vector<double> in_order(const AlignedRows& aligned, const PreparedRows& rows) {
  return rows.weights.empty() ? std::vector<double>() : aligned.in_order(rows.weights);
}

}  // namespace

TrainingRun::TrainingRun(const job::Job& job, Start start, std::ostream& out, ResumeOptions resume)
    : job_(job), start_(start), resume_(std::move(resume)), out_(out), party_(party_of(job.own.party)) {
  require<ConfigError>(job.own.data.train.has_value(), "private.data.train is missing: the file to train on");
  require<ConfigError>(!job.own.data.test || job.shared.training.test_share.value_or(0) == 0,
                       "shared.training.test_share is for jobs without a test file, and private.data.test names one; "
                       "leave out one of them");
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
    if (!stopped_ && is_b()) {
      // The peer need not wait for what follows.
      connection_->channel().close();
      add_baseline();
    }
  } catch (const std::exception& error) {
    const bool asked = connection_ && connection_->interrupted();
    // Of a run that failed before its first step nothing is kept, so that it can be started again once it is mended.
    if (folder_ && begun_ && !log_ && !asked) {
      folder_.reset();
      train::remove_run(job_.own.run.folder);
    }
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
  require<ConfigError>(!is_there || start_ == Start::kResume, path.string(),
                       ": there is something in it already; `blindfl resume` continues a run, and another "
                       "private.run.folder begins a new one");
  std::optional<run::RunFolder> opened = train::open_run(path, party_, "private.run.folder");
  if (!opened) return;
  folder_.emplace(std::move(*opened));
  summary_ = folder_->summary();
  require_same_options(path, job_);
  keys_ = train::load_keys(path);
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

  const train::RunOffer mine = folder_ ? train::offer_of(*folder_) : train::RunOffer{};
  agree_on_start(mine, train::exchange_offers(connection_->session(), mine));
  if (resumed_ || !folder_) return;
  // Nothing was trained yet: both begin anew.
  if (options.ledger) {
    early_ledger_ = early_ledger_path(job_.own.run.folder);
    fs::rename(*options.ledger, *early_ledger_);
  }
  folder_.reset();
  train::remove_run(job_.own.run.folder);
}

void TrainingRun::agree_on_start(const train::RunOffer& mine, const train::RunOffer& theirs) {
  protocol::Session& session = connection_->session();
  // What nobody says follows from what both know.
  const std::optional<std::size_t> said = resume_.epochs ? resume_.epochs : job_.shared.training.epochs;
  const std::string epochs = said ? std::to_string(*said) : "left open";
  session.agree("how far the run goes",
                protocol::Settings().add("resume --epochs, or shared.training.epochs,", epochs));
  session.settle();
  resumed_ = train::common_step(mine, theirs, resume_.start);
  require<ConfigError>(resumed_ || !resume_.epochs,
                       "--epochs: nothing was trained yet; set shared.training.epochs of the job instead");
  if (resumed_) train::confirm_going_back(resume_.start, mine, theirs, *resumed_);
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
  train_file_ = MarkedFile::of(*job_.own.data.train, train_rows_.rows->rows());
  if (test_rows_) test_file_ = MarkedFile::of(*job_.own.data.test, test_rows_->rows->rows());
  if (resumed_) {
    alignment_ = load_alignment(folder_->path(), *train_file_, test_file_);
  } else {
    alignment_.train = align_rows(session, job_, train_rows_, "training rows", out_);
    if (test_rows_) alignment_.test = align_rows(session, job_, *test_rows_, "test rows", out_);
    save_alignment(folder_->path(), alignment_, *train_file_, test_file_);
  }
  job_.shared = settled(job_.shared, alignment_.train.size(), test_rows_.has_value());
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
  settle_epochs();
  warn_of_hiding();
  const job::Training& training = job_.shared.training;
  const SplitPlaces split = split_places(split_of(training, alignment_.train.size()), training.order_seed);
  protocol::Alignment trained_on = select_places(alignment_.train, split.training);
  if (is_b()) {
    weighting_ = weighting_of(job_, train_rows_, trained_on);
    if (!weighting_.by_class.empty()) out_ << weight_words(preparation_->classes(), weighting_.by_class) << "\n";
  }
  training_.emplace(*train_rows_.rows, std::move(trained_on), weighting_.by_row);
  const auto choose = [&](std::optional<AlignedRows>& rows, const std::vector<std::uint32_t>& places) {
    if (!places.empty()) rows.emplace(*train_rows_.rows, select_places(alignment_.train, places));
  };
  choose(validation_, split.validation);
  choose(test_, split.test);
  if (test_rows_) test_.emplace(*test_rows_->rows, *alignment_.test);
  count_rows();

  torch::manual_seed(job_.own.run.weight_seed.value_or(Random().below(std::uint64_t{1} << 62)));
  model_ = make_model(session, job_.shared.model, *layers_);
  for (const std::string& line : protocol::choice_lines(model_.plan)) out_ << line << "\n";
  if (is_b() && model_.family == nn::Family::kLinear) {
    model_.labels = standardised(training_->in_order(train_rows_.labels));
  }
  loss_ = job_loss(model_, weighting_.by_class, weighting_.most_for_placeholders);
  trainer_ = std::make_unique<train::Trainer>(*model_.module, model_.forward, loss_, *training_, train_options());
}

train::TrainOptions TrainingRun::train_options() const {
  const job::Training& training = job_.shared.training;
  train::TrainOptions options{
      .epochs = epochs_, .batch = training.batch, .sgd = layers_->sgd, .order_seed = training.order_seed};
  // Layers stay as they were planned, whatever the run is prolonged to.
  if (resume_.epochs && !keys_) options.sgd.steps = epochs_ * layers_->steps_per_epoch;
  return options;
}

void TrainingRun::settle_epochs() {
  epochs_ = resume_.epochs.value_or(layers_->epochs);
  require<ConfigError>(epochs_ <= layers_->epochs || !keys_,
                       "--epochs: this run updates weights under encryption, in sums with room for the ",
                       layers_->epochs,
                       " epochs that were planned and no more; start a new run with more epochs, or with "
                       "shared.scheme.update: exchanged");
  if (epochs_ > 2 * layers_->epochs) {
    out_ << "this run was planned for " << layers_->epochs << " epochs: with " << epochs_
         << " it opens more values than its hiding was planned for, and each doubling costs one bit of it\n";
  }
}

// Both parties are told before anything is masked; what hides enough needs no words.
void TrainingRun::warn_of_hiding() const {
  const PartyShape& mine = preparation_->shape();
  const JobEstimate expected = estimate(job_.shared, is_b() ? theirs_ : mine, is_b() ? mine : theirs_,
                                        alignment_.train.size(), job_link(job_.shared.scheme));
  if (-std::log2(expected.exposure) >= he::kHidingOfRun) return;
  out_ << "WARNING: hiding of masks and noise: " << protocol::hiding_in_words(expected.exposure)
       << ". SECURITY.md says what that means.\n"
       << std::flush;
}

void TrainingRun::check_progress() const {
  require<ConfigError>(*resumed_ <= trainer_->steps(), "the run is at step ", *resumed_, ", after ",
                       *resumed_ / trainer_->steps_per_epoch(), " whole epochs, and ", epochs_, " epochs are ",
                       trainer_->steps(),
                       " steps: say how far it goes with `blindfl resume --epochs N` at both parties");
}

void TrainingRun::count_rows() {
  // A cannot tell which of its rows have no label at B.
  const auto count = [&](const std::optional<AlignedRows>& rows) -> std::uint64_t {
    if (!rows) return 0;
    return is_b() ? rows->real() : rows->rows();
  };
  summary_.rows = {.training = count(training_), .validation = count(validation_), .test = count(test_)};
  require<DataError>(summary_.rows.training > 0,
                     "none of the rows to train on is one that both parties have; they have too few in common");
  out_ << "training on " << summary_.rows.training << " rows";
  if (validation_) out_ << ", validating on " << summary_.rows.validation;
  if (test_) out_ << ", testing on " << summary_.rows.test << (test_rows_ ? "" : " of the same file");
  if (is_b() && training_->real() < training_->rows()) {
    out_ << "; " << training_->rows() - training_->real() << " placeholders among the rows to train on do not count";
  }
  out_ << "\n";
}

void TrainingRun::load_or_begin() {
  if (resumed_) {
    check_progress();
    state_ = train::load_checkpoint(*folder_, *resumed_, *model_.module, trainer_->optimizer());
    require<ConfigError>(!resume_.epochs || !state_.enough, "--epochs: early stopping ended this run after step ",
                         state_.step, ", and would again; start a new run with another shared.training.early_stopping");
    trainer_->resume_after(state_.step);
    sent_before_ = state_.sent;
    received_before_ = state_.received;
    train::supersede_checkpoints_after(*folder_, state_.step, kept_checkpoints());
    out_ << "resuming after step " << state_.step << " of " << trainer_->steps() << "\n";
  } else {
    checkpoint();
  }
  best_before_ = state_.best_step;
  train::RunLog::Options options{.progress = job_.own.run.progress && job_.own.run.log != job::LogLevel::kQuiet,
                                 .terminal = &out_ == &std::cout && ::isatty(STDOUT_FILENO) == 1,
                                 .seconds_before = state_.seconds,
                                 .seconds_waiting = [this] {
                                   return connection_->channel().seconds_waiting() +
                                          connection_->channel().seconds_sending();
                                 }};
  if (resumed_) {
    const std::uint64_t per_epoch = trainer_->steps_per_epoch();
    options.resumed_after = state_.step;
    options.resumed_epoch = per_epoch > 0 ? (state_.step + per_epoch - 1) / per_epoch : 0;
  }
  log_ = std::make_unique<train::RunLog>(*folder_, party_, connection_->channel(), out_, options);
  // Of a run that had finished, and is resumed.
  summary_.results.clear();
  summary_.baseline.clear();
  summary_.confusion = {};
  summary_.still_falling.reset();
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
  while (!trainer_->done() && !state_.enough && !stopped_) {
    log_->step(trainer_->take_step(clip));
    ++steps_here_;
    state_.step = trainer_->step();
    const bool epoch_ends = state_.step % trainer_->steps_per_epoch() == 0;
    train::StopVote vote{.stop = connection_->stop_asked()};
    if (epoch_ends && validation_) validate(vote);
    if (epoch_ends || state_.step % kStepsBetweenVotes == 0) {
      count_votes(vote, train::exchange_votes(connection_->session(), state_.step, vote));
    }
    if (checkpoint_is_due(epoch_ends) || stopped_) checkpoint();
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

bool TrainingRun::checkpoint_is_due(bool epoch_ends) const {
  const job::Training& training = job_.shared.training;
  if (training.checkpoint_every > 0 && state_.step % training.checkpoint_every == 0) return true;
  if (!epoch_ends) return false;
  // Any epoch may turn out to be the best.
  if (training.early_stopping.patience > 0 || trainer_->done()) return true;
  return epoch_of(state_.step) % ((epochs_ + kCheckpoints - 1) / kCheckpoints) == 0;
}

std::uint64_t TrainingRun::epoch_of(std::uint64_t step) const {
  const std::uint64_t per_epoch = trainer_->steps_per_epoch();
  return (step + per_epoch - 1) / per_epoch;
}

void TrainingRun::validate(train::StopVote& vote) {
  const torch::Tensor scores = train::score(model_.forward, *validation_, job_.shared.training.batch);
  if (!is_b()) return;
  const auto evaluation = evaluate_scores(model_, loss_, scores, validation_->in_order(train_rows_.labels),
                                          in_order(*validation_, train_rows_));
  if (!evaluation) return;
  const std::vector<run::Measure> measures = measure(metrics_of(job_.shared.model, job_.own.top), *evaluation);
  const job::EarlyStopping& stopping = job_.shared.training.early_stopping;
  if (stopping.patience == 0) {
    log_->measured("validation", measures);
    return;
  }
  const Watched watched = watch(*evaluation);
  vote.better = !state_.best || watched.sign * (watched.value - *state_.best) > stopping.minimum_improvement;
  vote.enough = !vote.better && state_.not_better + 1 >= stopping.patience;
  std::ostringstream more;
  more << "watched: " << watched.name << " " << decimal(watched.value);
  if (vote.better) {
    more << ", the best so far";
    state_.best = watched.value;
  } else {
    more << ", not better than " << decimal(*state_.best) << " in epoch " << epoch_of(state_.best_step) << " for "
         << state_.not_better + 1 << " of " << stopping.patience << " epochs";
  }
  log_->measured("validation", measures, more.str());
}

TrainingRun::Watched TrainingRun::watch(const Evaluation& evaluation) const {
  const job::Metric metric = metrics_of(job_.shared.model, job_.own.top).front();
  // What cannot be measured on these rows is not watched.
  const std::vector<run::Measure> value = measure({metric}, evaluation);
  if (value.empty()) return {.name = "loss", .value = evaluation.loss, .sign = -1};
  return {.name = value.front().name, .value = value.front().value, .sign = larger_is_better(metric) ? 1.0 : -1.0};
}

void TrainingRun::count_votes(const train::StopVote& mine, const train::StopVote& theirs) {
  stopped_ = mine.stop || theirs.stop;
  const bool epoch_ends = state_.step % trainer_->steps_per_epoch() == 0;
  if (!epoch_ends || job_.shared.training.early_stopping.patience == 0) return;
  const train::StopVote& of_b = is_b() ? mine : theirs;
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
    train::save_keys(folder_->path(), connection_->session());
    keys_saved_ = keys;
  }
  train::save_checkpoint(*folder_, state_, *model_.module, trainer_->optimizer());
  // The peer may be one checkpoint behind: what it needs then stays as well.
  train::remove_checkpoints(*folder_, kept_checkpoints(), {state_.best_step, best_before_});
  best_before_ = state_.best_step;
}

void TrainingRun::finish() {
  keep_best();
  const ModelFacts facts = this->facts();
  const auto masks = protocol::MaskKey::draw(connection_->session().random(), facts.name());
  save_preparation(folder_->model_path(), *preparation_);
  train::save_keys(folder_->model_path(), connection_->session());
  keep_test(facts);
  {
    const protocol::RepeatableScoring scope(connection_->session(), masks);
    score_test();
  }
  save_model(folder_->model_path(), facts, masks, model_);
  // Nobody leaves before both have their pieces.
  (void)train::exchange_votes(connection_->session(), state_.step, {});
  if (is_b()) note_loss();
  write_summary(run::RunState::kFinished);
  print_costs(write_report(), out_);
  out_ << "model: " << folder_->model_path().string() << "\nreport: " << folder_->report_path().string() << "\n"
       << std::flush;
}

// Whoever evaluates with the same file opens what the test at the end of training opened, and nothing else.
void TrainingRun::keep_test(const ModelFacts& facts) const {
  if (!test_) return;
  const job::AlignmentMode mode = job_.shared.alignment.mode;
  if (test_file_ && mode != job::AlignmentMode::kAligned) {
    const KeptAlignments kept(folder_->model_path(), facts.owner(), facts.name());
    kept.keep(*test_file_, mode, alignment_id("test of run " + facts.run), *alignment_.test);
  }
  if (!is_b()) {
    // Counted and not limited: a run that has come so far must be able to end.
    (void)count_scoring(folder_->model_path(), facts.owner(), facts.name(),
                        (test_file_ ? *test_file_ : *train_file_).digest, std::numeric_limits<std::uint64_t>::max());
  }
}

void TrainingRun::keep_best() {
  if (state_.best_step == 0) return;
  const std::uint64_t epoch = epoch_of(state_.best_step);
  summary_.best = {.step = state_.best_step, .epoch = epoch};
  summary_.stopped_early = state_.enough;
  if (state_.enough) {
    out_ << "stopped early, after epoch " << epoch_of(state_.step) << " of " << epochs_
         << ": validation has not improved for " << state_.not_better
         << (state_.not_better == 1 ? " epoch\n" : " epochs\n");
  }
  if (state_.best_step != state_.step) {
    (void)train::load_checkpoint(*folder_, state_.best_step, *model_.module, trainer_->optimizer());
  }
  out_ << "the model of step " << state_.best_step << " (epoch " << epoch
       << ") was the best in validation, and is kept";
  if (state_.best) out_ << ": " << decimal(*state_.best);
  out_ << "\n";
}

void TrainingRun::note_loss() {
  const bool is_last = state_.best_step == 0 || state_.best_step == state_.step;
  summary_.still_falling = run::still_falling(run::training_losses(run::read_metrics(folder_->metrics_path())));
  if (is_last && *summary_.still_falling) {
    out_ << "The loss is still falling: train longer (`blindfl resume --epochs N` at both parties, or more than "
         << epochs_ << " shared.training.epochs)\n";
  }
}

ModelFacts TrainingRun::facts() const {
  const PartyShape& mine = preparation_->shape();
  return {.run = summary_.run,
          .party = party_,
          .step = state_.best_step > 0 ? state_.best_step : state_.step,
          .rows = alignment_.train.size(),
          .trained = summary_.rows.training,
          .shared = job_.shared,
          .shape_a = is_b() ? theirs_ : mine,
          .shape_b = is_b() ? mine : theirs_};
}

std::optional<Evaluation> TrainingRun::evaluate_test(const torch::Tensor& scores) const {
  return evaluate_scores(model_, loss_, scores, test_->in_order(test_file().labels), in_order(*test_, test_file()));
}

void TrainingRun::score_test() {
  if (!test_) return;
  const torch::Tensor scores = train::score(model_.forward, *test_, job_.shared.training.batch);
  if (!is_b()) return;
  evaluation_ = evaluate_test(scores);
  if (!evaluation_) {
    out_ << "none of the test rows has a label: nothing is measured\n";
    return;
  }
  summary_.results = measure(metrics_of(job_.shared.model, job_.own.top), *evaluation_);
  const std::uint64_t step = state_.best_step > 0 ? state_.best_step : state_.step;
  log_->measured("test", summary_.results, {}, train::RunLog::Moment{step, epoch_of(step)});
  summary_.confusion = confusion_of(job_.shared.model, *evaluation_, preparation_->classes());
  if (!summary_.confusion.empty()) out_ << run::confusion_text(summary_.confusion);
  write_scores(folder_->path() / "test_scores.csv", model_, scores, test_->alignment(), test_file(),
               preparation_->classes());
}

// The run is finished, and saved: whatever happens here does not change that.
void TrainingRun::add_baseline() {
  const PartyShape& mine = preparation_->shape();
  if (!job_.own.top.baseline || !evaluation_ || mine.numeric + mine.fields.size() == 0) return;
  try {
    measure_baseline();
  } catch (const std::exception& error) {
    out_ << "B alone: left out: " << error.what() << "\n";
  }
}

void TrainingRun::measure_baseline() {
  const Baseline baseline = train_baseline({.model = job_.shared.model,
                                            .shape = preparation_->shape(),
                                            .outputs = model_.outputs,
                                            .loss = loss_,
                                            .training = train_options(),
                                            .steps = facts().step,
                                            .most_seconds = std::max(kBaselineSeconds, training_seconds_)},
                                           *training_, *test_);
  if (!baseline.scores.defined()) {
    out_ << "B alone: left out, training it would take about " << std::lround(baseline.seconds) << " s\n";
    return;
  }
  const auto evaluation = evaluate_test(baseline.scores);
  if (evaluation) summary_.baseline = measure(metrics_of(job_.shared.model, job_.own.top), *evaluation);
  out_ << baseline_text(summary_);
  write_summary(run::RunState::kFinished);
  (void)write_report();
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

run::RunReport TrainingRun::write_report() {
  run::RunReport report = training_report({.job = job_,
                                           .party = party_,
                                           .mine = preparation_->shape(),
                                           .theirs = theirs_,
                                           .rows = alignment_.train.size(),
                                           .model = model_,
                                           .epochs = epochs_,
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
  if (evaluation_) add_curves(job_.shared.model, *evaluation_, preparation_->classes(), report);
  folder_->write_report(run::report_html(report));
  return report;
}

}  // namespace blindfl::app
