#pragma once

#include <cstdint>
#include <vector>

#include "blindfl/app/plan/job_layers.h"

namespace blindfl::app {

/// Which rows of an alignment are used for what, each list ascending.
struct SplitPlaces {
  std::vector<std::uint32_t> training;
  std::vector<std::uint32_t> validation;
  std::vector<std::uint32_t> test;
};

/// Draws them by chance from the seed that both parties have: the same at both, and again after a run was interrupted.
/// The test's rows do not depend on how many are for validation.
[[nodiscard]] SplitPlaces split_places(const RowSplit& counts, std::uint64_t order_seed);

}  // namespace blindfl::app
