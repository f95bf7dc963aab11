#pragma once

#include <filesystem>
#include <iosfwd>

#include "blindfl/app/job/job.h"

namespace blindfl::app {

/// Aligns the training files of both parties, who do it at the same time, and writes this party's rows in the common
/// order: number of the row in its file, from 1, its id, and whether it is about the id of its place (1) or a
/// placeholder for one that this party lacks (0).
/// Throws ConfigError if the job takes rows as they are.
void align_files(const job::Job& job, const std::filesystem::path& list, std::ostream& out);

}  // namespace blindfl::app
