#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "blindfl/app/job/job.h"

// The job that a run began with, as its folder keeps it, and what a saved model keeps of it.

namespace blindfl::app::job {

/// Every option of a job with its value, defaults and `--set` included, as a job file; paths from the root. What is
/// secret is left out, and a comment says so.
[[nodiscard]] std::string kept_text(const Job& job);

/// What `kept_text` wrote. Secret options are as if nobody had set them. Errors begin with `source`.
/// Throws ConfigError as `load_job` does; checks across options are not made.
[[nodiscard]] Job parse_kept(std::string_view text, const std::string& source);

/// The same of a file. Throws DataError if it cannot be read.
[[nodiscard]] Job load_kept(const std::filesystem::path& path);

/// Every option of the section shared that has a value, as `model.kind=lr`, a line for each: how it was trained.
[[nodiscard]] std::string kept_shared(const Shared& shared);
/// What `kept_shared` wrote, also in an earlier version: options that it lacks have their defaults.
/// Throws DataError if it is cut short, ConfigError if it is something else.
[[nodiscard]] Shared parse_kept_shared(std::string_view text);

/// "shared.training.batch was 128, is 64", for each option by which a run is another: all of the section shared and, of
/// private, the party, how data is read and the top. Not where files are, which are compared by what they hold, nor
/// what is secret.
[[nodiscard]] std::vector<std::string> changes(const Job& was, const Job& is);

}  // namespace blindfl::app::job
