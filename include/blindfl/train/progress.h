#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <ostream>

#include "blindfl/train/trainer.h"

namespace blindfl::train {

/// Shows how training goes: epoch, loss, rows per second, time left. One line that changes on a terminal; plain lines,
/// one per epoch, or one for several epochs where there are more than 100, elsewhere. The loss is the mean over the
/// rows since the line before.
class Progress {
 public:
  /// `out` must outlive this.
  Progress(std::ostream& out, bool terminal);

  void show(const StepReport& report);
  /// Bytes that crossed the link so far, both ways, if they are to be shown.
  void set_bytes(std::uint64_t bytes) { bytes_ = bytes; }

 private:
  using Clock = std::chrono::steady_clock;

  std::ostream& out_;
  bool terminal_;
  Clock::time_point start_;
  Clock::time_point last_;
  double loss_sum_ = 0;
  std::size_t loss_rows_ = 0;
  std::size_t rows_ = 0;
  std::size_t steps_ = 0;  ///< shown; a resumed run does not begin with the first
  std::optional<std::uint64_t> bytes_;
  std::optional<std::uint64_t> first_bytes_;
};

}  // namespace blindfl::train
