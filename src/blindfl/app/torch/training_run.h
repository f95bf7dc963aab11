#pragma once

#include "blindfl/app/torch/training_data.h"

namespace blindfl::app {

/// One party's training, from its files to its shares of a model in the run's folder; or the rest of it, after it was
/// interrupted or killed. The steps hand each other values:
///
///     OpenedRun      what is in the folder               training_data.h
///     PreparedData   this party's encoded rows
///     JobSession     the peer is there                   job_session.h
///     StartedRun     where both start                    training_agreement.h
///     AgreedRun      rows, features, layers
///     RunRows, BuiltModel, Trainer                       training_parts.h
///     TrainingLoop   checkpoints, votes, validation      train/training_loop.h
///     TrainedRun     test, model, report, baseline       training_end.h
///
/// Throws whatever goes wrong; the folder then says so, and holds what is needed to resume.
void run_training(const TrainingTask& task);

}  // namespace blindfl::app
