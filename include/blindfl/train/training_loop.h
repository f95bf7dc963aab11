#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "blindfl/protocol/session/sessions.h"
#include "blindfl/run/summary.h"
#include "blindfl/train/checkpoint.h"
#include "blindfl/train/early_stopping.h"
#include "blindfl/train/run_log.h"
#include "blindfl/train/run_start.h"
#include "blindfl/train/trainer.h"

namespace blindfl::train {

struct LoopOptions {
  /// Steps; 0: at the ends of epochs only, and not of all where there are very many of them. The same at both parties.
  std::size_t checkpoint_every = 0;
  std::size_t keep = 2;  ///< checkpoints; at least two: the peer may be one behind
  EarlyStopping early_stopping{};
  /// At the end of each epoch, at both parties, which score together; what A returns is not looked at. Nothing at B: no
  /// row has a label. Empty, at both: there is no validation.
  std::function<std::optional<Validation>()> validate{};
  BeforeStep before_step{};
  /// Whether this party's user wants to stop: both parties then stop at the same step, with a checkpoint.
  std::function<bool()> stop_asked{};
};

/// Training that survives its process: a trainer's steps with checkpoints, validation, early stopping and the votes by
/// which all parties stop at the same step. Where the model has functions on shares, which are right on an interval
/// only, the parties look from time to time whether all values were inside, and before every checkpoint: what was
/// trained outside is never in one (nn/range_watcher.h). Whoever is killed makes a new session, model, trainer and
/// loop, and continues from the newest checkpoint that all have as if nothing had been:
///
/// ```
/// const auto run = blindfl::train::start_run(session, folder);
/// blindfl::train::Trainer trainer(*model, forward, loss, rows, options);
/// blindfl::train::TrainingLoop loop(run, *model, trainer, {.early_stopping = {.patience = 3}});
/// loop.run();
/// loop.keep_best();
/// ```
class TrainingLoop {
 public:
  /// Loads the checkpoint that `run` resumes after, and sets later ones aside; of a new run it writes the first. All
  /// that is passed must outlive this; `trainer` is `model`'s, and has taken no step.
  /// Cost: see `load_checkpoint`. Throws as that does; InvalidArgument if the trainer takes fewer steps.
  TrainingLoop(const StartedRun& run, nn::FederatedModule& model, Trainer& trainer, LoopOptions options = {});

  /// Whether there are no more steps: all were taken, validation said that it is enough, or somebody wants to stop.
  [[nodiscard]] bool over() const { return trainer_.done() || state_.enough || stopped_; }
  /// See Trainer: otherwise the first step does it.
  void keep_products() { trainer_.keep_products(); }
  /// Takes the next step, and what follows it. Throws whatever the protocol throws, and nn::OutOfRange at all parties
  /// if values left the range of a function; what the folder holds then is what a new loop resumes from.
  void step(RunLog* log = nullptr);
  void run(RunLog* log = nullptr) {
    while (!over()) step(log);
  }

  /// Whether a party's user wanted to stop.
  [[nodiscard]] bool stopped() const { return stopped_; }
  [[nodiscard]] const TrainingState& state() const { return state_; }
  /// Steps that this loop took.
  [[nodiscard]] std::uint64_t steps_here() const { return trainer_.step() - first_step_; }
  /// From 1; 0 before the first step.
  [[nodiscard]] std::uint64_t epoch_of(std::uint64_t step) const;
  /// Seconds of work, those of earlier processes included.
  [[nodiscard]] double seconds() const;

  /// The step whose model is kept: the best in validation, or the last.
  [[nodiscard]] std::uint64_t kept_step() const { return state_.best_step > 0 ? state_.best_step : state_.step; }
  /// Makes the model what it was then. Both parties call it. Throws as `load_checkpoint` does.
  void keep_best();
  /// How far the run is, and what it took.
  void describe(run::RunSummary& summary);

 private:
  [[nodiscard]] bool range_check_is_due() const;
  void check_ranges();
  /// With several A's: outputs open only if all of them are there.
  void bind(std::string_view what, const std::string& words, std::uint64_t step);
  void validate(StopVote& vote, RunLog* log);
  void count_votes(const StopVote& mine, const StopVote& theirs, bool epoch_ends);
  [[nodiscard]] bool checkpoint_is_due(bool epoch_ends) const;
  void checkpoint();
  void count_traffic();

  protocol::Sessions sessions_;  ///< of the model
  const run::RunFolder& folder_;
  nn::FederatedModule& model_;
  Trainer& trainer_;
  LoopOptions options_;
  TrainingState state_;
  std::uint64_t first_step_ = 0;
  net::Traffic sent_before_;  ///< by earlier processes of the same run
  net::Traffic received_before_;
  double seconds_before_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::uint64_t best_before_ = 0;  ///< the best step when the checkpoint before the last was written
  std::size_t keys_saved_ = 0;
  std::uint64_t checked_step_ = 0;  ///< after which ranges were looked at last
  bool stopped_ = false;
};

}  // namespace blindfl::train
