#pragma once

#include <span>
#include <string>
#include <string_view>

#include "blindfl/base/party.h"

// Nothing that A keeps may tell of labels or scores. What A may keep are measures of the work, which are named here:
// any other name is refused, so that a new metric is not A's by mistake.

namespace blindfl::run {

/// A number with a name, as in "auc".
struct Measure {
  std::string name;
  double value = 0;
};

/// Names of measures of the work alone: how fast it goes and what it takes.
[[nodiscard]] std::span<const std::string_view> work_measures();

/// Throws InvalidArgument, with the name and with `where`, if `party` is A and `name` is not one of `work_measures()`.
void check_may_keep(Party party, std::string_view name, std::string_view where);
/// The same of each, and if a name is there twice.
void check_may_keep(Party party, std::span<const Measure> measures, std::string_view where);

}  // namespace blindfl::run
