#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace blindfl::lab::paper {

/// Unsigned bytes of an IDX file, as Fashion-MNIST is published: `sizes` are those of its dimensions.
struct IdxBytes {
  std::vector<std::size_t> sizes;
  std::vector<std::uint8_t> values;
};

/// Reads such a file, plain or compressed. Throws DataError if it is something else, or is cut short or damaged.
[[nodiscard]] IdxBytes read_idx(const std::filesystem::path& path);

}  // namespace blindfl::lab::paper
