#include <iostream>
#include <string>
#include <vector>

#include "blindfl/app/commands.h"
#include "blindfl/app/run.h"
#include "blindfl/app/work/work_commands.h"

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  const auto plain = blindfl::app::all_commands();
  std::vector<blindfl::app::Command> commands(plain.begin(), plain.end());
  const auto work = blindfl::app::work_commands();
  commands.insert(commands.end(), work.begin(), work.end());
  return blindfl::app::run(commands, args, std::cout, std::cerr);
}
