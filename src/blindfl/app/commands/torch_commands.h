#pragma once

#include <vector>

#include "blindfl/app/cli/command.h"

namespace blindfl::app {

/// What does the work of the commands below.
struct TorchRuns {
  Command::Run align = nullptr;
  Command::Run train = nullptr;
  Command::Run resume = nullptr;
  Command::Run predict = nullptr;
  Command::Run evaluate = nullptr;
  Command::Run inspect = nullptr;
};

/// The commands of the program that has torch (app/torch): how they are called and what their help says. This table has
/// no torch, so that `blindfl` knows all its commands and loads torch for none of them; see hand_over.h.
[[nodiscard]] std::vector<Command> torch_commands(const TorchRuns& runs);

}  // namespace blindfl::app
