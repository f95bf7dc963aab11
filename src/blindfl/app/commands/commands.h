#pragma once

#include <span>

#include "blindfl/app/cli/command.h"

namespace blindfl::app {

// Each command is a file that defines one of these. A new one is declared here and listed in commands.cpp; `init` has
// a folder of its own. Those that need torch are in torch_commands.h.
[[nodiscard]] Command keygen_command();
[[nodiscard]] Command fingerprint_command();
[[nodiscard]] Command ping_command();
[[nodiscard]] Command audit_command();
[[nodiscard]] Command parameters_command();
[[nodiscard]] Command plan_command();

/// All of them, in the order of the help.
[[nodiscard]] std::span<const Command> all_commands();

}  // namespace blindfl::app
