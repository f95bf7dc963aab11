#include "blindfl/train/run_log.h"

#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <ostream>
#include <sstream>

#include "blindfl/run/event_file.h"
#include "blindfl/run/metrics_log.h"

namespace blindfl::train {

namespace {

using Seconds = std::chrono::duration<double>;

double wall_time() {
  return Seconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

run::MetricsLog open_metrics(const run::RunFolder& folder, Party party, const RunLog::Options& options) {
  // A process that was killed right after its first checkpoint had not begun the file.
  const bool is_there = std::filesystem::exists(folder.metrics_path());
  if (options.resumed_after && is_there)
    return run::MetricsLog::resume(folder.metrics_path(), party, *options.resumed_after);
  return {folder.metrics_path(), party};
}

}  // namespace

RunLog::RunLog(const run::RunFolder& folder, const protocol::Sessions& sessions, std::ostream& out,
               const Options& options)
    : sessions_(sessions),
      out_(out),
      options_(options),
      metrics_(std::make_unique<run::MetricsLog>(open_metrics(folder, sessions.party(), options))),
      events_(std::make_unique<run::EventFile>(folder.events_path(), sessions.party(), wall_time())),
      progress_(out, options.terminal) {
  // What is measured before another step belongs to the last one.
  step_ = options.resumed_after.value_or(0);
  epoch_ = options.resumed_epoch;
  if (options.resumed_after) events_->restart(*options.resumed_after + 1, wall_time());
  bytes_sent_ = sessions_.sent().bytes;
  bytes_received_ = sessions_.received().bytes;
  waited_ = seconds_waiting();
}

RunLog::~RunLog() = default;

double RunLog::seconds() const {
  return options_.seconds_before + Seconds(Clock::now() - start_).count();
}

void RunLog::step(const StepReport& report) {
  step_ = report.step;
  epoch_ = report.epoch;
  rows_ += report.rows;
  ++steps_;
  if (report.loss) {  // under a shared top nobody knows it
    loss_ += *report.loss * static_cast<double>(report.labelled);
    labelled_ += report.labelled;
  }
  if (options_.progress) {
    progress_.set_bytes(sessions_.sent().bytes + sessions_.received().bytes);
    progress_.show(report);
  }
  // Often enough for a curve, seldom enough for a small file.
  const std::size_t per_line = std::max<std::size_t>(1, report.steps / 400);
  if (report.step % per_line == 0 || report.step == report.steps) write_train_line(report);
}

void RunLog::write_train_line(const StepReport& report) {
  const auto now = Clock::now();
  const double taken = std::max(Seconds(now - last_).count(), 1e-9);
  const std::uint64_t sent = sessions_.sent().bytes;
  const std::uint64_t received = sessions_.received().bytes;
  const double waited = seconds_waiting();
  std::vector<run::Measure> values;
  if (labelled_ > 0) values.push_back({"loss", loss_ / static_cast<double>(labelled_)});
  values.push_back({"rows_per_second", static_cast<double>(rows_) / taken});
  values.push_back({"seconds_per_step", taken / static_cast<double>(steps_)});
  if (options_.seconds_waiting) values.push_back({"seconds_waiting", waited - waited_});
  values.push_back({"bytes_sent", static_cast<double>(sent - bytes_sent_)});
  values.push_back({"bytes_received", static_cast<double>(received - bytes_received_)});
  metrics_->write({.step = report.step, .epoch = report.epoch, .seconds = seconds(), .set = "train", .values = values});
  events_->write(report.step, wall_time(), "train", values);
  last_ = now;
  bytes_sent_ = sent;
  bytes_received_ = received;
  waited_ = waited;
  loss_ = 0;
  labelled_ = 0;
  steps_ = 0;
  rows_ = 0;
}

void RunLog::measured(const std::string& set, const std::vector<run::Measure>& values, const std::string& more,
                      const std::optional<Moment>& moment) {
  const auto [step, epoch] = moment.value_or(Moment{step_, epoch_});
  metrics_->write({.step = step, .epoch = epoch, .seconds = seconds(), .set = set, .values = values});
  events_->write(step, wall_time(), set, values);
  std::ostringstream line;
  line << set << std::fixed << std::setprecision(4);
  for (const run::Measure& value : values) line << "  " << value.name << " " << value.value;
  if (!more.empty()) line << "  (" << more << ")";
  if (options_.progress) out_ << line.str() << "\n" << std::flush;
}

}  // namespace blindfl::train
