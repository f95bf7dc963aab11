#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "blindfl/lab/paper/cell.h"

namespace blindfl::lab::paper {

/// Results of cells in a folder, one JSON file each, named by the settings' digest. A file is whole or not there, so
/// whoever kills the process loses the cell that was being measured and no other.
class CellCache {
 public:
  /// Makes the folder if it is not there, and removes what killed processes left half-written.
  /// Throws ConfigError if that cannot be done.
  explicit CellCache(std::filesystem::path folder);

  /// What was kept for these settings. None if nothing was, or if the file is damaged or of other settings: then
  /// `complaints()` gets a sentence.
  [[nodiscard]] std::optional<CellResult> find(const Settings& settings);
  /// Keeps a result, in place of an older one. Throws Error if the disk does not take it.
  void keep(const Settings& settings, const CellResult& result) const;

  /// Where the result of these settings is or would be.
  [[nodiscard]] std::filesystem::path path_of(const Settings& settings) const;
  [[nodiscard]] const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  std::filesystem::path folder_;
  std::vector<std::string> complaints_;
};

}  // namespace blindfl::lab::paper
