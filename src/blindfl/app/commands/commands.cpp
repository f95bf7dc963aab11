#include "blindfl/app/commands/commands.h"

#include <vector>

#include "blindfl/app/commands/hand_over.h"
#include "blindfl/app/commands/torch_commands.h"
#include "blindfl/app/init/init.h"

namespace blindfl::app {

namespace {

std::vector<Command> make_commands() {
  std::vector<Command> commands = {
      keygen_command(),     fingerprint_command(), ping_command(),           init_command(),
      parameters_command(), plan_command(),        audit_command(run_audit),
  };
  const std::vector<Command> work = torch_commands({.align = hand_over_job,
                                                    .train = hand_over_job,
                                                    .resume = hand_over_job,
                                                    .predict = hand_over_job,
                                                    .evaluate = hand_over_job,
                                                    .inspect = hand_over});
  commands.insert(commands.end(), work.begin(), work.end());
  return commands;
}

}  // namespace

std::span<const Command> all_commands() {
  static const std::vector<Command> commands = make_commands();
  return commands;
}

}  // namespace blindfl::app
