#pragma once

#include <array>

#include "blindfl/net/step.h"

namespace blindfl::net::steps {

inline constexpr StepInfo kPing{5, Protection::kPublic, "ping",
                                "random bytes, to try the link; release, clock and measured speed", "nothing secret"};

inline constexpr std::array<Step, 1> kAll = {kPing};

}  // namespace blindfl::net::steps
