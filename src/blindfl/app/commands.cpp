#include "blindfl/app/commands.h"

#include <vector>

namespace blindfl::app {

std::span<const Command> all_commands() {
  static const std::vector<Command> commands = {
      keygen_command(),     fingerprint_command(), ping_command(),  init_command(),
      parameters_command(), plan_command(),        audit_command(),
  };
  return commands;
}

}  // namespace blindfl::app
