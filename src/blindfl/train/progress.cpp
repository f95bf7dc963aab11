#include "blindfl/train/progress.h"

#include <cmath>
#include <iomanip>
#include <sstream>

#include "blindfl/base/number_text.h"

namespace blindfl::train {

namespace {

using Seconds = std::chrono::duration<double>;

constexpr std::size_t kMostLines = 100;

}  // namespace

Progress::Progress(std::ostream& out, bool terminal)
    : out_(out), terminal_(terminal), start_(Clock::now()), last_(start_) {}

void Progress::show(const StepReport& report) {
  rows_ += report.rows;
  ++steps_;
  if (bytes_ && !first_bytes_) first_bytes_ = bytes_;
  if (report.loss) {
    loss_sum_ += *report.loss * static_cast<double>(report.labelled);
    loss_rows_ += report.labelled;
  }
  const std::size_t steps_per_epoch = report.steps / report.epochs;
  const std::size_t per_line = steps_per_epoch * ((report.epochs + kMostLines - 1) / kMostLines);
  const bool epoch_ends = report.step % per_line == 0 || report.step == report.steps;
  const auto now = Clock::now();
  if (!epoch_ends && (!terminal_ || now - last_ < std::chrono::milliseconds(200))) return;
  last_ = now;

  const double seconds = Seconds(now - start_).count();
  const double left = static_cast<double>(report.steps - report.step) / static_cast<double>(steps_);
  std::ostringstream line;
  line << "epoch " << report.epoch << "/" << report.epochs << std::fixed;
  if (loss_rows_ > 0) line << "  loss " << std::setprecision(4) << loss_sum_ / static_cast<double>(loss_rows_);
  line << "  " << std::setprecision(0) << static_cast<double>(rows_) / std::max(seconds, 1e-9) << " rows/s";
  if (bytes_) {
    line << "  " << bytes_text(static_cast<double>(*bytes_ - *first_bytes_) / std::max(seconds, 1e-9)) << "/s";
  }
  if (report.step < report.steps) line << "  " << seconds_text(std::round(seconds * left)) << " left";

  if (terminal_) {
    // Back to the start of the line, and clear what a longer one may have left.
    out_ << "\r\x1b[K" << line.str() << (report.step == report.steps ? "\n" : "") << std::flush;
  } else {
    out_ << line.str() << "\n" << std::flush;
  }
  if (epoch_ends) {
    loss_sum_ = 0;
    loss_rows_ = 0;
  }
}

}  // namespace blindfl::train
