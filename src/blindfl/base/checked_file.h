#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "blindfl/base/bytes.h"
#include "blindfl/base/disk_file.h"
#include "blindfl/base/secret.h"

// Files that say what they are and notice what happened to them: keys, checkpoints, shares of a model.
//
//   offset  bytes  integers little-endian
//        0      8  "BlindFL\n"
//        8      4  version of this header, 1
//       12      4  version of the content, of its kind; from 1
//       16     24  kind of the content, printable ASCII, filled up with zeros
//       40     80  whose it is, the same; all zeros if it is nobody's in particular
//      120      8  bytes of content
//      128     32  SHA-256 of the content and then the first 128 bytes
//      160         content
//
// The digest finds accidents. It is not a signature: whoever may change the file can change it too.

namespace blindfl {

constexpr std::size_t kCheckedHeaderBytes = 160;
constexpr std::size_t kMaxKindCharacters = 24;
constexpr std::size_t kMaxOwnerCharacters = 80;

/// What a file is, in its header.
struct FileLabel {
  std::string_view kind;      ///< as in "checkpoint": up to 24 printable characters
  std::uint32_t version = 1;  ///< of the content's format
  /// As in "party A of run credit": up to 80 printable characters. Read with one, a file of another is refused.
  std::string_view owner = {};
  /// Written so that only these can read it. What is the owner's is refused where others may read it.
  Readers readers = Readers::kOwner;
};

/// Writes what `body` writes to a file with a header, in one step: see AtomicFile. The pieces pass through memory that
/// is cleared, and no copy is kept.
/// Throws InvalidArgument for a label that does not fit, ConfigError or Error if the file cannot be written, and what
/// `body` throws; the file of that name is then what it was before.
void write_atomically(const std::filesystem::path& path, const FileLabel& label,
                      const std::function<void(ByteSink&)>& body);
void write_atomically(const std::filesystem::path& path, const FileLabel& label, ByteView content);

/// Checks a whole file, then lets `body` read its content, which it must do to the end, and tells it the content's
/// version, which is that of `label` or older.
/// Cost: the file is read twice, in small pieces.
/// Throws DataError, naming the file and what to do, if it is cut short, damaged, of another kind or owner or of a
/// newer version, or `body` finds that it ends too early; ConfigError if others may read what is its owner's alone.
void read_checked(const std::filesystem::path& path, const FileLabel& label,
                  const std::function<void(ByteSource&, std::uint32_t version)>& body);

/// A content, for small files: keys for instance. Its memory is cleared when it is freed.
struct CheckedContent {
  std::uint32_t version = 0;
  SecretVector<std::byte> bytes;
};
/// The same, in memory.
[[nodiscard]] CheckedContent read_checked(const std::filesystem::path& path, const FileLabel& label);

}  // namespace blindfl
