#pragma once

#include "blindfl/app/commands/torch_commands.h"

namespace blindfl::app {

/// What the commands that work with models do, in this very process.
[[nodiscard]] TorchRuns torch_runs();

}  // namespace blindfl::app
