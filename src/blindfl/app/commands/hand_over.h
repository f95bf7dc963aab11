#pragma once

#include <filesystem>
#include <iosfwd>

#include "blindfl/app/cli/command.h"

// Loading torch takes half a second and 170 MB, whatever a command then does. So the program is two: `blindfl` without
// torch, and `blindfl-torch`, which it becomes where a model is worked with.

namespace blindfl::app {

/// Where `blindfl-torch` is: beside `program`, or where an installation has it.
/// Throws Error, saying what to do, if it is in neither place.
[[nodiscard]] std::filesystem::path torch_program(const std::filesystem::path& program);

/// Makes this process `blindfl-torch`, which is given the same words: the same process, terminal, files and signals.
/// Throws Error if there is no such program.
void hand_over(const Arguments& arguments, std::ostream& out);

/// The same, after a look at the job file: a mistake in it is told at once.
/// Throws ConfigError, saying where it is and what to write instead.
void hand_over_job(const Arguments& arguments, std::ostream& out);

}  // namespace blindfl::app
