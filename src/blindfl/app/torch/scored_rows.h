#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "blindfl/protocol/align/alignment.h"

// Which people A has let be scored with a model that has a shared top, by digests of their ids: each scoring of a row
// rounds its score anew, whatever file the row is in. Files are counted besides (scoring_counts.h), for rows without
// ids.

namespace blindfl::app {

/// The ids that are scored at the places of an alignment.
[[nodiscard]] std::vector<std::string> scored_ids(const protocol::Alignment& alignment,
                                                  const std::vector<std::string>& ids);

/// Counts one more scoring of each of `ids` with `model`. On the disk when it returns: call it before anything is
/// opened. `owner` as in `RunFolder::owner`.
/// Throws ConfigError, naming private.limits.scorings, and counts nothing, if one of them has been scored `most` times
/// already; DataError, naming the file, if that is damaged or another's.
void count_scored_rows(const std::filesystem::path& model_folder, const std::string& owner, const std::string& model,
                       const std::vector<std::string>& ids, std::uint64_t most);

}  // namespace blindfl::app
