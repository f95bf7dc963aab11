#include "blindfl/protocol/layers/run_length.h"

#include <algorithm>
#include <cmath>

#include "blindfl/base/error.h"

namespace blindfl::protocol {

std::uint64_t counted_passes(const RunLength& run, const SgdOptions& sgd) {
  if (run.passes > 0) return run.passes;
  return sgd.steps > 0 ? 2 * std::uint64_t{sgd.steps} * sgd.passes_per_step : kPassesIfUndeclared;
}

std::uint64_t run_values(const RunLength& run, std::uint64_t passes, double values, std::size_t products) {
  const double all = values * static_cast<double>(passes) * static_cast<double>(products * run.layers);
  return static_cast<std::uint64_t>(std::min(std::ceil(all), 0x1p62));
}

void check_run_length(const RunLength& run, const char* layer) {
  constexpr std::uint64_t kMostPasses = std::uint64_t{1} << 40;
  require<InvalidArgument>(run.layers > 0 && run.passes <= kMostPasses, "layer '", layer,
                           "': a run has one source layer at least, and 2^40 passes at most (run.passes, run.layers)");
}

}  // namespace blindfl::protocol
