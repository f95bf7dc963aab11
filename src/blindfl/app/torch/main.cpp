#include <iostream>
#include <string>
#include <vector>

#include "blindfl/app/cli/end_process.h"
#include "blindfl/app/commands/run.h"
#include "blindfl/app/torch/torch_runs.h"

// `blindfl-torch`: what `blindfl` becomes for the commands that work with models.
int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  blindfl::app::end_process(blindfl::app::run(blindfl::app::commands_with_torch(), args, std::cout, std::cerr));
}
