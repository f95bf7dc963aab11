#pragma once

#include <vector>

namespace blindfl::lab::attacks {

/// The share of rows that have the most common label: what guessing it gets right.
[[nodiscard]] double most_common_share(const std::vector<double>& labels);

/// Of labels 0 and 1. Throws InvalidArgument if there are others, or one of the two is missing.
[[nodiscard]] bool ones_are_rarer(const std::vector<double>& labels);

}  // namespace blindfl::lab::attacks
