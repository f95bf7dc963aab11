#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

#include "blindfl/app/cli/command.h"

namespace blindfl::app {

/// Of the program, as in "0.1.0".
[[nodiscard]] std::string_view version();

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

/// The whole program `blindfl`, but for the process: `args` without the program's name. Returns the exit code. Results
/// and help go to `out`; what went wrong goes to `err`, on a line that begins with `blindfl <command>:`.
int run(std::span<const std::string> args, std::ostream& out, std::ostream& err);

/// The same, with other commands, and for another program.
int run(std::span<const Command> commands, std::span<const std::string> args, std::ostream& out, std::ostream& err,
        const Program& program = kBlindfl);

}  // namespace blindfl::app
