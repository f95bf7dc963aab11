#include <iostream>
#include <string>
#include <vector>

#include "blindfl/app/cli/end_process.h"
#include "blindfl/app/commands/run.h"
#include "blindfl/app/lab/lab_commands.h"

// `blindfl_lab`: what the paper measured, measured again.
int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  blindfl::app::end_process(
      blindfl::app::run(blindfl::app::lab_commands(), args, std::cout, std::cerr, blindfl::app::kLab));
}
