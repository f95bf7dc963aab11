#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>

namespace blindfl::protocol {

/// Of shares of products that a party keeps in memory: 1 GiB.
constexpr std::uint64_t kMostKeptMemory = std::uint64_t{1} << 30;

/// Where a party keeps its shares of the products of all training rows, 16 bytes for each row and output. Its own
/// choice: the peer need not say the same, and does not learn of it.
struct KeepOptions {
  std::uint64_t most_memory = kMostKeptMemory;  ///< of a layer; what takes more is kept in a file
  /// Where the bytes of that file are. It has no name, only its owner may read it, and it is gone with the layer or
  /// with the process. Empty: the system's folder for temporary files.
  std::filesystem::path folder{};
  /// Told how many of a layer's rows are done.
  std::function<void(std::size_t done, std::size_t rows)> observer{};
};

}  // namespace blindfl::protocol
