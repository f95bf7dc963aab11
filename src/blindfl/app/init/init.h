#pragma once

#include <iosfwd>

#include "blindfl/app/cli/command.h"
#include "blindfl/app/init/questions.h"

namespace blindfl::app::init {

/// What `blindfl init` does: looks at data, asks `questions`, writes job files and tells about them.
/// Throws UsageError, naming the flag, for what is missing; ConfigError or DataError if a file is unusable or there.
void write_jobs(const Arguments& arguments, Questions& questions, std::ostream& out);

}  // namespace blindfl::app::init

namespace blindfl::app {

[[nodiscard]] Command init_command();

}  // namespace blindfl::app
