#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "blindfl/run/measure.h"
#include "blindfl/train/checkpoint.h"
#include "blindfl/train/resume_handshake.h"

namespace blindfl::train {

/// When training ends because validation does not improve any more. Both parties must have the same.
struct EarlyStopping {
  std::size_t patience = 0;        ///< epochs without improvement; 0: it never ends so
  double minimum_improvement = 0;  ///< less is none
};

/// What early stopping looks at.
struct Watched {
  std::string name;
  double value = 0;
  bool larger_is_better = true;
};

/// What B found on rows that are not trained on.
struct Validation {
  std::vector<run::Measure> measures;
  Watched watched;
};

/// What B votes, after validation: whether the model has never been better, and whether that is enough.
[[nodiscard]] StopVote judge(const EarlyStopping& options, const TrainingState& state, const Watched& watched);

/// "watched: auc 0.8100, not better than 0.8123 in epoch 3 for 1 of 2 epochs"; `best_epoch` is that of the best step.
[[nodiscard]] std::string words_of(const EarlyStopping& options, const TrainingState& state, const Watched& watched,
                                   std::uint64_t best_epoch);

/// What both parties note of B's vote at the end of an epoch.
void note_verdict(const StopVote& of_b, TrainingState& state);

}  // namespace blindfl::train
