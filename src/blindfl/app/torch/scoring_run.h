#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>

#include "blindfl/app/job/job.h"

// Rows are scored with the finished model in the run's folder, together with the peer, who does the same. B gets the
// scores; A learns how many rows there were.

namespace blindfl::app {

/// Scores `private.data.score`; B writes the predictions to `scores`.
void predict(const job::Job& job, const std::optional<std::filesystem::path>& scores, std::ostream& out);
/// Scores `private.data.test` and, at B, prints how good the scores are; with `scores`, writes them too.
void evaluate(const job::Job& job, const std::optional<std::filesystem::path>& scores, std::ostream& out);

}  // namespace blindfl::app
