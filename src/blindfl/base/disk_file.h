#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "blindfl/base/bytes.h"

namespace blindfl {

/// Who may read a file: mode 0600 or 0644.
enum class Readers { kOwner, kEveryone };

/// An ordinary file that is open until the end of the scope. Errors begin with its path, and never say what is in it.
class DiskFile {
 public:
  /// To read from. Throws DataError if there is none, or it is no ordinary file: a pipe could keep us waiting for ever.
  [[nodiscard]] static DiskFile open(const std::filesystem::path& path);
  /// To write on at the end of a file that is there. Throws DataError as `open` does.
  [[nodiscard]] static DiskFile open_to_append(const std::filesystem::path& path);
  /// To write to. Throws ConfigError if there is such a file, or a link of that name, or no folder to put it in.
  [[nodiscard]] static DiskFile create(const std::filesystem::path& path, Readers readers);

  /// To read from and write to, made if it is not there. Throws ConfigError if that fails or something else, a link for
  /// instance, has that name.
  [[nodiscard]] static DiskFile open_or_create(const std::filesystem::path& path, Readers readers);

  /// To write to and read from, without a name and for its owner alone: gone when it is closed, however that comes
  /// about. `folder` is where its bytes are. Throws ConfigError if the folder is not there or does not let us write.
  [[nodiscard]] static DiskFile create_unnamed(const std::filesystem::path& folder);

  DiskFile(DiskFile&& other) noexcept;
  DiskFile(const DiskFile&) = delete;
  DiskFile& operator=(const DiskFile&) = delete;
  DiskFile& operator=(DiskFile&&) = delete;
  ~DiskFile();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] int descriptor() const { return file_; }
  [[nodiscard]] std::uint64_t size() const;
  /// Whether its owner alone may read or change it.
  [[nodiscard]] bool is_private() const;

  /// Reads on until `out` is full or the file ends, and returns how much it read. Throws DataError if reading fails.
  [[nodiscard]] std::size_t read_some(std::span<std::byte> out);
  /// Fills `out` from `offset` on, without going there: several threads may. Throws DataError if that fails or the file
  /// is too short.
  void read_at(std::uint64_t offset, std::span<std::byte> out) const;
  /// Goes back to the beginning, or elsewhere.
  void seek(std::uint64_t offset);
  /// Forgets what is beyond `size` bytes. Throws Error if that fails.
  void cut(std::uint64_t size);
  /// Writes on. Throws Error if the disk does not take it.
  void write(ByteView bytes);
  /// Waits until all is on the disk. Throws Error if it could not be stored.
  void flush_to_disk();
  /// Closes a written file. Throws Error if its file system tells only now that it could not store it.
  void close();

 private:
  DiskFile(std::filesystem::path path, int file);
  static DiskFile open_with(const std::filesystem::path& path, int flags);
  void require_written(bool done) const;

  std::filesystem::path path_;
  int file_;
};

/// Waits until the name of a new or renamed file is on the disk too: it is in its folder, which is written separately.
void flush_name_to_disk(const std::filesystem::path& path);

}  // namespace blindfl
