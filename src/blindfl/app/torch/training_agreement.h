#pragma once

#include <cstdint>
#include <optional>

#include "blindfl/app/plan/estimate.h"
#include "blindfl/app/plan/job_layers.h"
#include "blindfl/app/plan/party_shape.h"
#include "blindfl/app/torch/early_ledger.h"
#include "blindfl/app/torch/job_session.h"
#include "blindfl/app/torch/run_files.h"
#include "blindfl/app/torch/training_data.h"
#include "blindfl/train/run_start.h"
#include "blindfl/train/trainer.h"

// The steps of a training that both parties take together before it begins: where they start, with which rows, and
// what is trained.

namespace blindfl::app {

/// Agrees with the peers on where all start, and makes the folder of a new run.
/// Throws ConfigError if steps would be lost that nobody gave up.
[[nodiscard]] train::StartedRun start_run(const TrainingTask& task, const protocol::Sessions& sessions,
                                          OpenedRun opened, LedgerPlace& ledger);

/// Writes what a new run is resumed with.
void save_beginning(const TrainingTask& task, const run::RunFolder& folder, const Preparation& preparation,
                    LedgerPlace& ledger);

/// What all parties have in common.
struct AgreedRun {
  job::Job job;  ///< with what it left open settled
  MarkedFile train_file;
  std::optional<MarkedFile> test_file;  ///< of a job that names one
  SavedAlignment alignment;
  ShapesOfA shapes_a;
  PartyShape shape_b;
  std::size_t place = 0;  ///< at one of several A's: which of them this is
  JobLayers layers;
  JobEstimate expected;         ///< of the layers
  train::TrainOptions options;  ///< how far this run goes; layers are planned for the epochs of the job
};
/// Aligns the rows, or takes them as the run aligned them, and compares the parties' features. Several A's agree before
/// on what hides their parts.
/// `keeps_keys`: the run updates weights under encryption.
[[nodiscard]] AgreedRun agree_on_run(const TrainingTask& task, JobSession& connection, const PreparedData& data,
                                     const train::StartedRun& run, bool keeps_keys);

}  // namespace blindfl::app
