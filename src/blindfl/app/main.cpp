#include <iostream>
#include <string>
#include <vector>

#include "blindfl/app/cli/end_process.h"
#include "blindfl/app/commands/run.h"

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  blindfl::app::end_process(blindfl::app::run(args, std::cout, std::cerr));
}
