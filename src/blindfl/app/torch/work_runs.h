#pragma once

#include "blindfl/app/commands/work_commands.h"

namespace blindfl::app {

/// What the commands that work with models do, in this very process.
[[nodiscard]] WorkRuns work_runs();

}  // namespace blindfl::app
