#pragma once

#include <filesystem>

#include "blindfl/prepare/spec.h"

namespace blindfl::prepare {

/// CSV or LIBSVM: what the file's name or its first row tell.
/// Throws DataError if the file cannot be read.
[[nodiscard]] FileFormat format_of(const std::filesystem::path& path);

}  // namespace blindfl::prepare
