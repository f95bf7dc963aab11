#pragma once

#include <optional>

#include "blindfl/app/torch/kept_view.h"
#include "blindfl/app/torch/training_parts.h"
#include "blindfl/app/torch/training_report.h"
#include "blindfl/train/run_log.h"

// What follows the last step of a training: the test, the model in its folder, the report, B's model of its own
// features.

namespace blindfl::app {

/// All of a run that has trained. What is referred to must outlive this.
struct TrainedRun {
  const TrainingTask& task;
  const PreparedData& data;
  const AgreedRun& agreed;
  const RunRows& rows;
  const BuiltModel& built;
  const std::optional<ViewKeeper>& view;
  const TrainingCost& cost;
  JobSession& connection;
  run::RunFolder& folder;
  train::TrainingLoop& loop;
  train::RunLog& log;
  run::RunSummary& summary;
  /// It had finished under a shared top, and was resumed with nothing left to train.
  bool had_finished = false;

  /// Writes the summary, with how far the run is.
  void write_summary(run::RunState state) const;
};

/// Of a run that is resumed, nothing is left that was measured at its end.
void forget_results(run::RunSummary& summary);

/// Writes a summary that ends, or continues, now.
void write_summary(run::RunFolder& folder, run::RunSummary& summary, run::RunState state);

/// Keeps the best model, tests it together with the peer, saves and reports it. Returns what B found in the test;
/// nothing if the test's rows were scored by this model before, and their scores would be rounded anew.
[[nodiscard]] std::optional<Evaluation> finish(const TrainedRun& run);

/// At B, when A has left: a model of B's features alone beside it. The run is finished, and saved: whatever happens
/// here does not change that.
void add_baseline(const TrainedRun& run, const std::optional<Evaluation>& test);

}  // namespace blindfl::app
