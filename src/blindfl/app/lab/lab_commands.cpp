#include "blindfl/app/lab/lab_commands.h"

#include <vector>

namespace blindfl::app {

std::span<const Command> lab_commands() {
  static const std::vector<Command> commands{paper_command(), peers_command(), secureml_command(), deal_command()};
  return commands;
}

}  // namespace blindfl::app
