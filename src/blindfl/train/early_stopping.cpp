#include "blindfl/train/early_stopping.h"

#include <iomanip>
#include <sstream>

namespace blindfl::train {

StopVote judge(const EarlyStopping& options, const TrainingState& state, const Watched& watched) {
  const double sign = watched.larger_is_better ? 1 : -1;
  const bool better = !state.best || sign * (watched.value - *state.best) > options.minimum_improvement;
  return {.better = better, .enough = !better && state.not_better + 1 >= options.patience};
}

std::string words_of(const EarlyStopping& options, const TrainingState& state, const Watched& watched,
                     std::uint64_t best_epoch) {
  std::ostringstream words;
  words << "watched: " << watched.name << " " << std::fixed << std::setprecision(4) << watched.value;
  if (judge(options, state, watched).better) {
    words << ", the best so far";
  } else {
    words << ", not better than " << *state.best << " in epoch " << best_epoch << " for " << state.not_better + 1
          << " of " << options.patience << " epochs";
  }
  return words.str();
}

void note_verdict(const StopVote& of_b, TrainingState& state) {
  state.not_better = of_b.better ? 0 : state.not_better + 1;
  if (of_b.better) state.best_step = state.step;
  state.enough = of_b.enough;
}

}  // namespace blindfl::train
