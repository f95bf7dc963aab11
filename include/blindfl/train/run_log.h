#pragma once

#include <chrono>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "blindfl/protocol/session/sessions.h"
#include "blindfl/run/measure.h"
#include "blindfl/run/run_folder.h"
#include "blindfl/train/progress.h"
#include "blindfl/train/trainer.h"

namespace blindfl::run {
class EventFile;
class MetricsLog;
}  // namespace blindfl::run

namespace blindfl::train {

/// What is measured while training: for the screen, for `metrics.jsonl` and for TensorBoard.
class RunLog {
 public:
  struct Options {
    bool progress = true;
    bool terminal = false;
    double seconds_before = 0;                     ///< of earlier processes of the same run
    std::optional<std::uint64_t> resumed_after{};  ///< a step: the log continues after it
    std::uint64_t resumed_epoch = 0;               ///< that step's
    std::function<double()> seconds_waiting{};     ///< for the peer and the line so far; empty: it is not measured
  };
  /// `folder`, the sessions and `out` must outlive this.
  RunLog(const run::RunFolder& folder, const protocol::Sessions& sessions, std::ostream& out, const Options& options);
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;
  ~RunLog();

  /// After each step.
  void step(const StepReport& report);
  /// Of a model: how many steps it took, and in which epoch.
  struct Moment {
    std::uint64_t step = 0;
    std::uint64_t epoch = 0;
  };
  /// What B measured on other rows, of the model as it is now or as it was at another moment. Shown and kept; `more` is
  /// shown behind it.
  void measured(const std::string& set, const std::vector<run::Measure>& values, const std::string& more = {},
                const std::optional<Moment>& moment = std::nullopt);
  /// Seconds of work, those of earlier processes included.
  [[nodiscard]] double seconds() const;

 private:
  using Clock = std::chrono::steady_clock;
  void write_train_line(const StepReport& report);
  [[nodiscard]] double seconds_waiting() const { return options_.seconds_waiting ? options_.seconds_waiting() : 0; }

  protocol::Sessions sessions_;
  std::ostream& out_;
  Options options_;
  std::unique_ptr<run::MetricsLog> metrics_;
  std::unique_ptr<run::EventFile> events_;
  Progress progress_;
  Clock::time_point start_ = Clock::now();
  // Since the last line.
  Clock::time_point last_ = start_;
  std::uint64_t bytes_sent_ = 0;
  std::uint64_t bytes_received_ = 0;
  double waited_ = 0;
  double loss_ = 0;  ///< the sum over the rows that have a label
  std::size_t labelled_ = 0;
  std::size_t steps_ = 0;
  std::size_t rows_ = 0;
  std::uint64_t step_ = 0;
  std::uint64_t epoch_ = 0;
};

}  // namespace blindfl::train
