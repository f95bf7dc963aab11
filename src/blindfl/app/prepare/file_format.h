#pragma once

#include <filesystem>

#include "blindfl/app/job/own.h"
#include "blindfl/data/delimited.h"

namespace blindfl::app {

/// CSV or LIBSVM: what the job says, or else what names of columns in the job, the file's name or its first row tell.
/// Throws DataError if the file cannot be read.
[[nodiscard]] job::FileFormat format_of(const std::filesystem::path& path, const job::Data& data);

/// How CSV files are cut into cells. Blanks around a cell do not belong to it.
/// Throws ConfigError if the delimiter cannot be one.
[[nodiscard]] data::DelimitedOptions csv_format(const job::Data& data);

}  // namespace blindfl::app
