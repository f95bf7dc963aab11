#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace blindfl::bench {

struct LayerOptions {
  bool json = false;
  int key_bits = 2048;
  std::optional<std::string> shape;  ///< all without it
  std::optional<std::string> way;
};

/// Mini-batches of source layers, each way of doing them beside the paper's.
void report_ways(const LayerOptions& options);
/// Updates under encryption, by the number of A's features.
void report_features(const LayerOptions& options, const std::vector<std::size_t>& features);
/// What B's own features cost before training.
void report_own(const LayerOptions& options, std::size_t features);

}  // namespace blindfl::bench
