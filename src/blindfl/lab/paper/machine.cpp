#include "blindfl/lab/paper/machine.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "blindfl/base/number_text.h"

namespace blindfl::lab::paper {

std::string Machine::text() const {
  return processor + ", " + counted(cores, "core") + ", " + memory_text(memory) + " of memory";
}

Machine this_machine() {
  Machine machine{.processor = "unknown processor", .cores = std::max(1U, std::thread::hardware_concurrency())};
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (!line.starts_with("model name") || colon == std::string::npos) continue;
    machine.processor = line.substr(colon + 2);
    break;
  }
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) machine.memory = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
  return machine;
}

}  // namespace blindfl::lab::paper
