#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/base/disk_file.h"
#include "blindfl/base/secret.h"

namespace blindfl {

/// A file that appears under its name when it is complete and on the disk, or not at all: whoever kills this process,
/// or pulls the plug, leaves what was there before.
///
/// It is written under another name in the same folder, `.NAME.PID-NUMBER.blindfl-part`, which the writer locks. What
/// is left of a killed process has no lock: see `remove_leftovers`.
class AtomicFile final : public ByteSink {
 public:
  /// Throws ConfigError if the folder is not there or does not let us write.
  AtomicFile(std::filesystem::path path, Readers readers);
  /// Removes what was written, unless it was committed.
  ~AtomicFile() override;

  /// Throws Error if the disk does not take it.
  void write(ByteView bytes) override;
  /// Writes what is the beginning of the file once more: for headers that tell of what follows.
  void rewrite_beginning(ByteView bytes);
  /// Waits until all is on the disk and puts it in the place of the file of that name, if there is one. Once, and last.
  /// Throws Error if the disk does not take it, or a folder has that name.
  void commit();

 private:
  void flush();

  std::filesystem::path path_;
  DiskFile file_;
  SecretVector<std::byte> buffer_;  ///< cleared when freed: keys pass through it
  bool committed_ = false;
};

/// A text in a file of its own, in one step as above.
void write_text_atomically(const std::filesystem::path& path, std::string_view text, Readers readers);

/// Removes files that an AtomicFile of a killed process left in a folder, and returns their paths. What a living
/// process writes stays. Throws DataError if the folder cannot be listed.
std::vector<std::filesystem::path> remove_leftovers(const std::filesystem::path& folder);

}  // namespace blindfl
