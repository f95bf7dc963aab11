#pragma once

#include <cstddef>

#include "blindfl/app/job/job.h"
#include "blindfl/data/delimited.h"
#include "blindfl/prepare/preparation.h"

// What a job says of this party's files, as blindfl/prepare takes it.

namespace blindfl::app {

using prepare::Labels;
using prepare::Preparation;
using prepare::PreparedRows;

}  // namespace blindfl::app

namespace blindfl::app::job {

/// CSV or LIBSVM: what the job says, or else what names of columns in the job, the training file's name or its first
/// row tell. Throws DataError if the file cannot be read.
[[nodiscard]] prepare::FileFormat format_of(const Data& data);

/// How CSV files are cut into cells. Blanks around a cell do not belong to it.
/// Throws ConfigError if the delimiter cannot be one.
[[nodiscard]] data::DelimitedOptions csv_format(const Data& data);

/// How the job's files become features, fitted to its training file.
/// Throws as `Preparation::fit` does, and ConfigError if the job names no training file or does not suit its format.
[[nodiscard]] Preparation fit_preparation(const Job& job);

/// Memory that a job gives the encoded rows of a file: a quarter of its own, if it says how much that is.
[[nodiscard]] std::size_t row_memory_of(const Resources& resources);

}  // namespace blindfl::app::job
