#pragma once

#include <cstddef>
#include <vector>

#include "blindfl/protocol/session/settings.h"

namespace blindfl::protocol {

/// Another learning rate, from this step on. Steps count from 0.
struct LearningRateChange {
  std::size_t step = 0;
  double learning_rate = 0.0;
};

/// SGD as both parties run it, all of it known before training starts.
struct SgdOptions {
  double learning_rate = 0.05;  ///< of step 0, and until the schedule changes it
  double momentum = 0.0;
  double weight_decay = 0.0;
  std::vector<LearningRateChange> schedule{};  ///< by step, ascending
  std::size_t steps = 0;                       ///< the most that will be taken; 0: not declared
  /// Backward passes that a step adds up, at most. Updates under encryption have room for so many and refuse more.
  std::size_t passes_per_step = 1;

  /// For comparing the two parties' options.
  [[nodiscard]] Settings settings() const;
};

/// Options that passed every check.
class SgdPlan {
 public:
  /// Throws InvalidArgument, saying what to do, if an option is out of range or the schedule is not in order.
  explicit SgdPlan(const SgdOptions& options);

  [[nodiscard]] const SgdOptions& options() const { return options_; }
  /// Of one step, the first being 0. Throws InvalidArgument if fewer steps were declared.
  [[nodiscard]] double learning_rate_at(std::size_t step) const;
  /// Over all steps. The smallest of those above 0, if there is any.
  [[nodiscard]] double largest_learning_rate() const;
  [[nodiscard]] double smallest_learning_rate() const;

 private:
  SgdOptions options_;
};

}  // namespace blindfl::protocol
