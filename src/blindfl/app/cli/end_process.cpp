#include "blindfl/app/cli/end_process.h"

#include <cstdio>
#include <cstdlib>
#include <iostream>

namespace blindfl::app {

void end_process(int code) {
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
  std::_Exit(code);
}

}  // namespace blindfl::app
