#pragma once

#include <cstddef>
#include <filesystem>

#include "blindfl/data/table.h"

namespace blindfl::data {

/// What a LIBSVM file does not say about itself.
struct LibsvmOptions {
  /// Columns of the table; 0 takes the highest index seen. A test set may lack the last columns of its training set.
  std::size_t cols = 0;
  /// What the file calls its first column: 1, as the format has it, or 0.
  std::size_t index_base = 1;
};

/// Reads `label index:value index:value ...` lines, plain or xz, in one pass into a sparse table with labels.
///
/// Blank lines, `#` comments, CR LF and a leading `+` are fine, and so is a row with a label only. Indices ascend.
/// Throws DataError, with the file, the line and the kind of fault but never the value, for anything else, and for a
/// file without rows; InvalidArgument if `options` make no sense.
[[nodiscard]] Table read_libsvm(const std::filesystem::path& path, const LibsvmOptions& options = {});

}  // namespace blindfl::data
