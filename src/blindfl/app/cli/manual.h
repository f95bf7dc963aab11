#pragma once

#include <span>
#include <string>
#include <string_view>

#include "blindfl/app/cli/command.h"

namespace blindfl::app {

/// The manual page of the program, as roff: what `blindfl --manual` prints and the build installs.
[[nodiscard]] std::string manual_of(std::span<const Command> commands, std::string_view version);

}  // namespace blindfl::app
