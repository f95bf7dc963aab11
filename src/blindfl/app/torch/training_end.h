#pragma once

#include <optional>

#include "blindfl/app/torch/training_parts.h"
#include "blindfl/train/run_log.h"

// What follows the last step of a training: the test, the model in its folder, the report, B's model of its own
// features.

namespace blindfl::app {

/// What training took, in this process.
struct TrainingCost {
  double setup_seconds = 0;
  double training_seconds = 0;
  double waiting = 0;  ///< while training
  double sending = 0;
  double in_protocol = 0;  ///< waiting and sending included
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
};

/// All of a run that has trained. What is referred to must outlive this.
struct TrainedRun {
  const TrainingTask& task;
  const PreparedData& data;
  const AgreedRun& agreed;
  const RunRows& rows;
  const BuiltModel& built;
  const TrainingCost& cost;
  JobSession& connection;
  run::RunFolder& folder;
  train::TrainingLoop& loop;
  train::RunLog& log;
  run::RunSummary& summary;

  /// Writes the summary, with how far the run is.
  void write_summary(run::RunState state) const;
};

/// Writes a summary that ends, or continues, now.
void write_summary(run::RunFolder& folder, run::RunSummary& summary, run::RunState state);

/// Keeps the best model, tests it together with the peer, saves and reports it. Returns what B found in the test.
[[nodiscard]] std::optional<Evaluation> finish(const TrainedRun& run);

/// At B, when A has left: a model of B's features alone beside it. The run is finished, and saved: whatever happens
/// here does not change that.
void add_baseline(const TrainedRun& run, const std::optional<Evaluation>& test);

}  // namespace blindfl::app
