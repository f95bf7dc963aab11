#pragma once

#include <string>

#include "blindfl/app/job/job.h"

namespace blindfl::app::job {

/// A job file that says what `job` says, with every option there is: those that are needed or not as they would be
/// anyway are set; the others are comments with their defaults. Parsed again, it is the same job.
[[nodiscard]] std::string render_job(const Job& job);

}  // namespace blindfl::app::job
