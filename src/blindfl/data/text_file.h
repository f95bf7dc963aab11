#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/base/digest.h"

namespace blindfl::data {

/// The lines of a text file, plain or compressed with xz, gzip or zstd; which of them, the content tells and not the
/// name.
///
/// Reads as it goes: memory holds a few buffers, the longest line and what the decompressor needs.
class LineReader {
 public:
  /// No honest row is longer; a file without line ends must not fill the memory.
  static constexpr std::size_t kMaxLineBytes = std::size_t{64} << 20;

  /// `digest`, if any, is told the bytes of the file as they are read, before they are decompressed: all of them when
  /// there is no next line. It must outlive this.
  /// Throws DataError if the file cannot be opened or is compressed in another way.
  explicit LineReader(const std::filesystem::path& path, std::size_t max_line_bytes = kMaxLineBytes,
                      DigestOfPieces* digest = nullptr);
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;
  ~LineReader();

  /// Goes to the next line; false after the last one.
  /// Throws DataError if reading fails, the compressed data is cut short or damaged, or the line is too long.
  [[nodiscard]] bool next();
  /// The current line without its end, which may be LF or CR LF. Valid until the next call of `next()`.
  [[nodiscard]] std::string_view line() const { return line_; }
  /// Counts from 1; 0 before the first line.
  [[nodiscard]] std::size_t number() const { return number_; }

 private:
  class Input;

  /// Fetches more of the file into `unread_`; false at its end.
  bool refill();

  std::unique_ptr<Input> input_;
  std::string name_;
  std::size_t max_line_bytes_;
  std::vector<char> buffer_;
  std::string_view unread_;
  // The beginning of a line that did not fit into one buffer.
  std::string carried_;
  std::string_view line_;
  std::size_t number_ = 0;
};

}  // namespace blindfl::data
