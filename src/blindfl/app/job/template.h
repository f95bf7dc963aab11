#pragma once

#include <map>
#include <string>

#include "blindfl/app/job/job.h"

namespace blindfl::app::job {

/// What somebody who reads a job file should know of an option, by its whole key.
using Remarks = std::map<std::string, std::string, std::less<>>;

/// A job file that says what `job` says, with every option there is: those that are needed or not as they would be
/// anyway are set; the others are comments with their defaults. Remarks are comments above their options. Parsed
/// again, it is the same job.
[[nodiscard]] std::string render_job(const Job& job, const Remarks& remarks = {});

}  // namespace blindfl::app::job
