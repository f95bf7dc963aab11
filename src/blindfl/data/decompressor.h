#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace blindfl::data {

/// Turns the bytes of a compressed file into those it was made from, piece by piece.
class Decompressor {
 public:
  /// What one call did.
  struct Progress {
    std::size_t taken = 0;
    std::size_t made = 0;
  };

  Decompressor() = default;
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;
  virtual ~Decompressor() = default;

  /// Takes bytes from the front of `in` and fills the front of `out`. An empty `in` says that the file has ended; if
  /// nothing is made then, all of it was.
  /// Throws DataError if the file is damaged, asks for too much memory or has ended where it must not.
  virtual Progress decompress(std::string_view in, std::span<char> out) = 0;
};

/// What suits a file that begins with `head`: for xz, gzip and zstd; none for a plain file. `name` is for errors.
/// Throws DataError if the file is compressed in another way.
[[nodiscard]] std::unique_ptr<Decompressor> make_decompressor(std::string_view head, const std::string& name);

}  // namespace blindfl::data
