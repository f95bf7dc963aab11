#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>

#include "blindfl/app/job/job.h"

namespace blindfl::app {

/// Scores rows with the finished model in the run's folder, together with the peer, who does the same. B gets the
/// scores; A learns how many rows there were.
class ScoringRun {
 public:
  /// `out` must outlive this.
  ScoringRun(const job::Job& job, std::ostream& out) : job_(job), out_(out) {}

  /// Scores `private.data.score`; B writes the predictions to `scores`.
  void predict(const std::optional<std::filesystem::path>& scores);
  /// Scores `private.data.test` and, at B, prints how good the scores are; with `scores`, writes them too.
  void evaluate(const std::optional<std::filesystem::path>& scores);

 private:
  enum class Use { kPredict, kEvaluate };
  void run(Use use, const std::filesystem::path& path, const std::optional<std::filesystem::path>& scores_path);

  job::Job job_;
  std::ostream& out_;
};

}  // namespace blindfl::app
