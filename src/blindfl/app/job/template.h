#pragma once

#include <map>
#include <string>

#include "blindfl/app/job/job.h"

namespace blindfl::app::job {

/// What somebody who reads a job file should know of an option, by its whole key.
using Remarks = std::map<std::string, std::string, std::less<>>;

/// A job file with every option and what it means. What a job leaves as it would be anyway is a comment; a remark is
/// one more, above its option. Reading it gives the same job.
[[nodiscard]] std::string render_job(const Job& job, const Remarks& remarks = {});

}  // namespace blindfl::app::job
