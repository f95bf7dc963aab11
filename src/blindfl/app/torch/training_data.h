#pragma once

#include <iosfwd>
#include <optional>

#include "blindfl/app/job/job.h"
#include "blindfl/app/job/preparation.h"
#include "blindfl/app/torch/job_session.h"
#include "blindfl/app/torch/resume_options.h"
#include "blindfl/run/run_folder.h"
#include "blindfl/train/checkpoint.h"

// The steps of a training before the peer is met: this party's folder, and its files.

namespace blindfl::app {

/// What is asked for, and who is told how it goes: the same in all steps.
struct TrainingTask {
  enum class Start { kNew, kResume };

  job::Job job;
  Start start{};
  ResumeOptions resume;
  std::ostream& out;  ///< must outlive this

  [[nodiscard]] Party party() const { return job.own.party; }
  [[nodiscard]] bool is_b() const { return party() == Party::kB; }
  /// Who must do something together, in words.
  [[nodiscard]] std::string_view everybody() const {
    return job.own.link.several_as() ? "all parties" : "both parties";
  }
};

/// What a job's folder holds of a run.
struct OpenedRun {
  std::optional<run::RunFolder> folder;  ///< none: nothing was begun
  std::vector<train::SavedKeys> keys;    ///< one for each peer, null unless it saved some; empty without a run
};
/// Throws ConfigError if the folder cannot be used, or its run began with other options.
[[nodiscard]] OpenedRun open_folder(const TrainingTask& task);

/// This party's rows, encoded.
struct PreparedData {
  Preparation preparation;
  PreparedRows train;
  std::optional<PreparedRows> test_file;  ///< none: test rows, if any, are some of the training file

  /// Of the test rows: of a file of their own, or of the training file.
  [[nodiscard]] const PreparedRows& test() const { return test_file ? *test_file : train; }
};
/// Prepares the files as an earlier process of the run did, or anew. Tells what was found.
[[nodiscard]] PreparedData read_files(const TrainingTask& task, const OpenedRun& opened);

}  // namespace blindfl::app
