#include "blindfl/train/training_loop.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/mpc/function_plan.h"
#include "blindfl/nn/range_watcher.h"
#include "blindfl/protocol/session/output.h"

namespace blindfl::train {

namespace {

/// Steps between two votes to stop.
constexpr std::uint64_t kStepsBetweenVotes = 8;

/// Checkpoints of a whole run, about, where there are more epochs than anybody wants to go back to.
constexpr std::size_t kCheckpoints = 100;

}  // namespace

TrainingLoop::TrainingLoop(const StartedRun& run, nn::FederatedModule& model, Trainer& trainer, LoopOptions options)
    : sessions_(nn::sessions_of(model.federated_parameters())),
      folder_(run.folder),
      model_(model),
      trainer_(trainer),
      options_(std::move(options)) {
  options_.keep = std::max<std::size_t>(2, options_.keep);
  if (run.resumed) {
    state_ = load_checkpoint(folder_, *run.resumed, model_, trainer_.optimizer());
    trainer_.resume_after(state_.step);
    first_step_ = checked_step_ = state_.step;
    sent_before_ = state_.sent;
    received_before_ = state_.received;
    seconds_before_ = state_.seconds;
    supersede_checkpoints_after(folder_, state_.step, options_.keep);
  } else {
    checkpoint();
  }
  bind("run", "begun after step", state_.step);
  best_before_ = state_.best_step;
  start_ = std::chrono::steady_clock::now();
}

void TrainingLoop::bind(std::string_view what, const std::string& words, std::uint64_t step) {
  protocol::bind_outputs(sessions_, what, as_bytes(words + " " + std::to_string(step)));
}

void TrainingLoop::step(RunLog* log) {
  const StepReport report = trainer_.take_step(options_.before_step);
  if (log != nullptr) log->step(report);
  state_.step = trainer_.step();
  const bool epoch_ends = state_.step % trainer_.steps_per_epoch() == 0;
  // Validation of what left its range would say nothing.
  if (epoch_ends || range_check_is_due()) check_ranges();
  StopVote vote{.stop = options_.stop_asked && options_.stop_asked()};
  if (epoch_ends && options_.validate) validate(vote, log);
  if (epoch_ends || state_.step % kStepsBetweenVotes == 0) {
    count_votes(vote, exchange_votes(sessions_, state_.step, vote), epoch_ends);
  }
  if (checkpoint_is_due(epoch_ends) || stopped_) checkpoint();
}

void TrainingLoop::validate(StopVote& vote, RunLog* log) {
  bind("pass", "validation after step", state_.step);
  const std::optional<Validation> validation = options_.validate();
  if (sessions_.party() != Party::kB || !validation) return;
  const EarlyStopping& stopping = options_.early_stopping;
  std::string words;
  if (stopping.patience > 0) {
    words = words_of(stopping, state_, validation->watched, epoch_of(state_.best_step));
    const StopVote verdict = judge(stopping, state_, validation->watched);
    vote.better = verdict.better;
    vote.enough = verdict.enough;
    if (vote.better) state_.best = validation->watched.value;
  }
  if (log != nullptr) log->measured("validation", validation->measures, words);
}

void TrainingLoop::count_votes(const StopVote& mine, const StopVote& theirs, bool epoch_ends) {
  stopped_ = mine.stop || theirs.stop;
  if (!epoch_ends || options_.early_stopping.patience == 0) return;
  note_verdict(sessions_.party() == Party::kB ? mine : theirs, state_);
}

bool TrainingLoop::checkpoint_is_due(bool epoch_ends) const {
  if (options_.checkpoint_every > 0 && state_.step % options_.checkpoint_every == 0) return true;
  if (!epoch_ends) return false;
  // Any epoch may turn out to be the best.
  if (options_.early_stopping.patience > 0 || trainer_.done()) return true;
  const std::size_t epochs = trainer_.steps() / trainer_.steps_per_epoch();
  return epoch_of(state_.step) % ((epochs + kCheckpoints - 1) / kCheckpoints) == 0;
}

std::uint64_t TrainingLoop::epoch_of(std::uint64_t step) const {
  const std::uint64_t per_epoch = trainer_.steps_per_epoch();
  return (step + per_epoch - 1) / per_epoch;
}

double TrainingLoop::seconds() const {
  return seconds_before_ + std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

// What a killed process did after its last checkpoint is done again, and counts once.
void TrainingLoop::count_traffic() {
  state_.sent = sent_before_ + sessions_.sent();
  state_.received = received_before_ + sessions_.received();
}

// What diverges does so in the first steps, and within sixteen of them far beyond what a check can tell.
bool TrainingLoop::range_check_is_due() const {
  return std::has_single_bit(state_.step) || state_.step % mpc::kStepsBetweenRangeChecks == 0;
}

// What was looked at already is not looked at again.
void TrainingLoop::check_ranges() {
  try {
    nn::check_ranges(model_);
  } catch (const nn::OutOfRange& out) {
    // Nobody leaves before all know, and whoever does not learn it in words has lost the link.
    try {
      (void)exchange_votes(sessions_, state_.step, {});
    } catch (const Error&) {
    }
    fail<nn::OutOfRange>("after step ", state_.step, ": ", out.what());
  }
  if (state_.step > checked_step_ && nn::watches_ranges(model_)) ++state_.range_checks;
  checked_step_ = state_.step;
}

void TrainingLoop::checkpoint() {
  check_ranges();
  state_.seconds = seconds();
  count_traffic();
  // Keys of a scheme are made at its first use, and stay.
  std::size_t keys = 0;
  for (const protocol::Session* session : sessions_) keys += session->keys_to_save();
  if (keys > keys_saved_) {
    save_keys(folder_.path(), sessions_);
    keys_saved_ = keys;
  }
  save_checkpoint(folder_, state_, model_, trainer_.optimizer());
  // The peer may be one checkpoint behind: what it needs then stays as well.
  remove_checkpoints(folder_, options_.keep, {state_.best_step, best_before_});
  best_before_ = state_.best_step;
}

void TrainingLoop::keep_best() {
  bind("pass", "model of step", kept_step());
  if (kept_step() != state_.step) (void)load_checkpoint(folder_, kept_step(), model_, trainer_.optimizer());
}

void TrainingLoop::describe(run::RunSummary& summary) {
  summary.steps = state_.step;
  summary.epochs = state_.step / trainer_.steps_per_epoch();
  summary.seconds = seconds();
  count_traffic();
  summary.sent = state_.sent;
  summary.received = state_.received;
  summary.range_checks.inside = state_.range_checks;
}

}  // namespace blindfl::train
