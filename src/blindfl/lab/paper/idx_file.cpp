#include "blindfl/lab/paper/idx_file.h"

#include <array>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include "blindfl/base/error.h"
#include "blindfl/data/decompressor.h"

namespace blindfl::lab::paper {

namespace {

constexpr std::size_t kMostIdxBytes = std::size_t{1} << 30;
constexpr char kUnsignedBytes = 8;

std::string file_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  require<DataError>(file.is_open(), path.string(), ": cannot be opened");
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::unique_ptr<data::Decompressor> decompressor = data::make_decompressor(bytes, path.string());
  if (decompressor == nullptr) return bytes;
  std::string plain;
  std::array<char, 1 << 16> piece{};
  for (std::string_view rest = bytes;;) {
    const auto [taken, made] = decompressor->decompress(rest, piece);
    rest.remove_prefix(taken);
    plain.append(piece.data(), made);
    require<DataError>(plain.size() <= kMostIdxBytes, path.string(), ": is too large");
    if (rest.empty() && made == 0) return plain;
  }
}

}  // namespace

IdxBytes read_idx(const std::filesystem::path& path) {
  const std::string bytes = file_bytes(path);
  const auto byte_at = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  require<DataError>(bytes.size() >= 4 && bytes[0] == 0 && bytes[1] == 0 && bytes[2] == kUnsignedBytes, path.string(),
                     ": is no IDX file of unsigned bytes");
  IdxBytes idx;
  const std::size_t dimensions = byte_at(3);
  const std::size_t header = 4 + 4 * dimensions;
  require<DataError>(dimensions > 0 && bytes.size() >= header, path.string(), ": is cut short");
  std::size_t all = 1;
  for (std::size_t d = 0; d < dimensions; ++d) {
    std::size_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size = size << 8 | byte_at(4 + 4 * d + i);
    require<DataError>(size <= kMostIdxBytes && all * size <= kMostIdxBytes, path.string(), ": is too large");
    idx.sizes.push_back(size);
    all *= size;
  }
  require<DataError>(bytes.size() == header + all, path.string(), ": has another length than it says");
  idx.values.assign(bytes.begin() + static_cast<std::ptrdiff_t>(header), bytes.end());
  return idx;
}

}  // namespace blindfl::lab::paper
