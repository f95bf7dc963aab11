#pragma once

#include <vector>

#include "blindfl/app/command.h"

namespace blindfl::app {

/// The commands that work with models, and so need torch: align, train, resume, predict, evaluate, inspect.
[[nodiscard]] std::vector<Command> work_commands();

}  // namespace blindfl::app
