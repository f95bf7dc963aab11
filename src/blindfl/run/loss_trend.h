#pragma once

#include <span>

#include "blindfl/run/metrics_log.h"

namespace blindfl::run {

/// Whether a training loss was still falling when training ended: from the third quarter of its points to the last it
/// fell by more than chance explains (3 standard errors of the difference of the two means), and by enough to matter:
/// more than 3 % of all that it fell since the start, or more than an eighth of what is left of it. Not of fewer than
/// 8 points, which tell nothing. Points that are not finite are passed over.
[[nodiscard]] bool still_falling(std::span<const double> losses);

/// The training loss in the lines of a run's metrics, in their order.
[[nodiscard]] std::vector<double> training_losses(const MetricsFile& metrics);

}  // namespace blindfl::run
