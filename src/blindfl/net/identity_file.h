#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

#include "blindfl/base/disk_file.h"
#include "blindfl/base/secret.h"

namespace blindfl::net {

// A certificate and its key take about a thousand bytes. A file far longer than any is not one of ours.
constexpr std::size_t kMaxIdentityFileBytes = std::size_t{1} << 20;

/// A file that did not exist before, and does not exist after this object unless it was kept.
class NewFile {
 public:
  /// Throws ConfigError if there is such a file, or a link of that name, or no folder to put it in.
  NewFile(const std::filesystem::path& path, Readers readers);
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile();

  /// Writes the whole content, and returns when it is on the disk. Throws Error if the disk does not take it.
  void write(std::string_view content);
  void keep() { kept_ = true; }

 private:
  DiskFile file_;
  bool kept_ = false;
};

/// A whole file of at most `kMaxIdentityFileBytes`. Throws DataError if it is longer, is no ordinary file or cannot be
/// read.
[[nodiscard]] SecretVector<char> read_identity_file(const std::filesystem::path& path);

/// The same, but throws ConfigError, and reads nothing, if others than its owner may read or change the file.
[[nodiscard]] SecretVector<char> read_key_file(const std::filesystem::path& path);

}  // namespace blindfl::net
