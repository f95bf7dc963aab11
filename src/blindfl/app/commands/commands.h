#pragma once

#include <iosfwd>
#include <span>

#include "blindfl/app/cli/command.h"

namespace blindfl::app {

// Each command is a file that defines one of these. A new one is declared here and listed in commands.cpp; `init` has
// a folder of its own. Those that need torch are in torch_commands.h.
[[nodiscard]] Command keygen_command();
[[nodiscard]] Command fingerprint_command();
[[nodiscard]] Command ping_command();
/// `run` is what it does in this program: see `run_audit`.
[[nodiscard]] Command audit_command(Command::Run run);
[[nodiscard]] Command parameters_command();
[[nodiscard]] Command plan_command();

/// What `blindfl` does at `audit`: with ledgers by itself; attacks are the work of the program that has torch.
void run_audit(const Arguments& arguments, std::ostream& out);

/// All of them, in the order of the help.
[[nodiscard]] std::span<const Command> all_commands();

}  // namespace blindfl::app
