#pragma once

#include <chrono>
#include <ostream>

#include "blindfl/train/trainer.h"

namespace blindfl::train {

/// Shows how training goes: epoch, loss, rows per second, time left. One line that changes on a terminal; plain lines,
/// one per epoch and no more often than that, elsewhere.
class Progress {
 public:
  /// `out` must outlive this.
  Progress(std::ostream& out, bool terminal);

  void show(const StepReport& report);

 private:
  using Clock = std::chrono::steady_clock;

  std::ostream& out_;
  bool terminal_;
  Clock::time_point start_;
  Clock::time_point last_;
  double loss_sum_ = 0;
  std::size_t loss_count_ = 0;
  std::size_t rows_ = 0;
};

}  // namespace blindfl::train
