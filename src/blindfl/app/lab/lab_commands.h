#pragma once

#include <span>

#include "blindfl/app/cli/command.h"

namespace blindfl::app {

inline constexpr Program kLab{.name = "blindfl_lab",
                              .summary = "the paper's tables and figures, measured on this machine",
                              .usage = "blindfl_lab COMMAND [OPTIONS]"};

/// `paper`, `peers`, `secureml` and `deal`.
[[nodiscard]] std::span<const Command> lab_commands();

[[nodiscard]] Command paper_command();
[[nodiscard]] Command peers_command();
[[nodiscard]] Command secureml_command();
[[nodiscard]] Command deal_command();

}  // namespace blindfl::app
