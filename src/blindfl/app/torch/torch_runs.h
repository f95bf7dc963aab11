#pragma once

#include "blindfl/app/commands/torch_commands.h"

namespace blindfl::app {

/// What the commands that work with models do, in this very process.
[[nodiscard]] TorchRuns torch_runs();

/// All commands of `blindfl-torch`: those, and the attacks of `audit`.
[[nodiscard]] std::vector<Command> commands_with_torch();

}  // namespace blindfl::app
