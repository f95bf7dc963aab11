#pragma once

#include <torch/torch.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "blindfl/app/job/preparation.h"
#include "blindfl/app/torch/job_model.h"
#include "blindfl/app/torch/run_files.h"
#include "blindfl/data/row_source.h"
#include "blindfl/protocol/session/repeatable_scoring.h"
#include "blindfl/protocol/session/sessions.h"
#include "blindfl/train/checkpoint.h"

namespace blindfl::app {

/// A finished model as one party has it, from the folder of its run, before the peer is met.
struct LoadedModel {
  std::filesystem::path folder;  ///< that its shares are in
  ModelFacts facts;
  Preparation preparation;  ///< how rows are read for it
  /// That sessions must be opened with, one for each peer; null: with none in particular.
  std::vector<train::SavedKeys> keys;

  /// Throws ConfigError if there is none, or it is the other party's; DataError if it is damaged.
  [[nodiscard]] static LoadedModel from(const std::filesystem::path& run_folder, Party party);
  /// What the peer's must have too, for `JobSession::Options::subject`.
  [[nodiscard]] protocol::Settings settings() const;
};

/// All of a party's sessions under a `protocol::RepeatableScoring`, each with a key of its own.
class RepeatingSessions {
 public:
  RepeatingSessions(const protocol::Sessions& sessions, const protocol::MaskKey& key);

 private:
  std::vector<std::unique_ptr<protocol::RepeatableScoring>> all_;
};

/// A party's piece of a finished model in its sessions, ready to score, as often as it is asked. All parties make one
/// at the same time. Under an open top masks repeat: whoever scores the same rows in the same order again opens nothing
/// new. Under a shared one every scoring rounds the scores anew, and B learns more of a score with each: a row is to be
/// scored once per model, and A counts (scoring_counts.h).
class Scorer {
 public:
  /// The sessions must outlive this. Throws DataError if the shares in the folder are damaged.
  Scorer(const protocol::Sessions& sessions, const LoadedModel& loaded);

  /// At B: the scores of `rows`, which both parties have in the same order. At A: an empty tensor.
  [[nodiscard]] torch::Tensor score(const data::RowSource& rows) const;
  /// What scores mean.
  [[nodiscard]] const JobModel& model() const { return model_; }

 private:
  JobModel model_;
  std::optional<RepeatingSessions> repeatable_;  ///< under an open top
  std::size_t batch_;
};

}  // namespace blindfl::app
