#pragma once

#include <torch/torch.h>

#include <filesystem>
#include <optional>

#include "blindfl/app/job/preparation.h"
#include "blindfl/app/torch/job_model.h"
#include "blindfl/app/torch/run_files.h"
#include "blindfl/data/row_source.h"
#include "blindfl/protocol/session/repeatable_scoring.h"
#include "blindfl/train/checkpoint.h"

namespace blindfl::app {

/// A finished model as one party has it, from the folder of its run, before the peer is met.
struct LoadedModel {
  std::filesystem::path folder;  ///< that its shares are in
  ModelFacts facts;
  Preparation preparation;  ///< how rows are read for it
  train::SavedKeys keys;    ///< that a session must be opened with; null: with none in particular

  /// Throws ConfigError if there is none, or it is the other party's; DataError if it is damaged.
  [[nodiscard]] static LoadedModel from(const std::filesystem::path& run_folder, Party party);
  /// What the peer's must have too, for `JobSession::Options::subject`.
  [[nodiscard]] protocol::Settings settings() const;
};

/// The two halves of a finished model in a session, ready to score, as often as they are asked. Both parties make one
/// at the same time. Under an open top masks repeat: whoever scores the same rows in the same order again opens nothing
/// new. Under a shared one every scoring rounds the scores anew, and B learns more of a score with each: a row is to be
/// scored once per model, and A counts (scoring_counts.h).
class Scorer {
 public:
  /// `session` must outlive this. Throws DataError if the shares in the folder are damaged.
  Scorer(protocol::Session& session, const LoadedModel& loaded);

  /// At B: the scores of `rows`, which both parties have in the same order. At A: an empty tensor.
  [[nodiscard]] torch::Tensor score(const data::RowSource& rows) const;
  /// What scores mean.
  [[nodiscard]] const JobModel& model() const { return model_; }

 private:
  JobModel model_;
  std::optional<protocol::RepeatableScoring> repeatable_;  ///< under an open top
  std::size_t batch_;
};

}  // namespace blindfl::app
