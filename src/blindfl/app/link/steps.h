#pragma once

#include "blindfl/net/step.h"

namespace blindfl::app {

/// Every kind of message that the program sends: the steps of all rooms.
[[nodiscard]] const net::StepTable& all_steps();

}  // namespace blindfl::app
