#pragma once

#include <filesystem>
#include <iosfwd>

namespace blindfl::app {

/// Prints what is in the folder of a run, or of a model: shapes, schemes, digests, states and, at B, metrics; never a
/// value of the data, a share or a key. Throws ConfigError if it is neither, DataError if something in it is damaged.
void inspect(const std::filesystem::path& folder, std::ostream& out);

}  // namespace blindfl::app
