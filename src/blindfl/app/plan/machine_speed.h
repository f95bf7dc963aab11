#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/base/random.h"
#include "blindfl/he/scheme.h"

namespace blindfl::app {

/// How many times as long a scheme takes on this machine as it expects: see he::ProductTimes.
struct MachineSpeed {
  std::map<std::string, double, std::less<>> factors{};  ///< by the session's names of schemes

  /// 1 for a scheme that was not measured.
  [[nodiscard]] double factor(std::string_view scheme) const;
};

/// Runs a few small products with new keys, on one thread. Cost: about a second of one core; several with Paillier on a
/// processor without vector units.
[[nodiscard]] MachineSpeed measure_speed(const std::vector<const he::Scheme*>& schemes, Random& random);

}  // namespace blindfl::app
