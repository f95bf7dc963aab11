#include "blindfl/lab/paper/machine.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <span>
#include <thread>
#include <vector>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/base/number_text.h"
#include "blindfl/base/text.h"

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

std::string this_build() {
  constexpr const char* kProgram = "/proc/self/exe";
  constexpr std::size_t kPiece = 1 << 20;
  constexpr std::size_t kDigits = 32;
  std::ifstream file(kProgram, std::ios::binary);
  DigestOfPieces digest;
  std::vector<char> piece(kPiece);
  std::size_t length = 0;
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0) {
    const auto count = static_cast<std::size_t>(file.gcount());
    digest.add(std::as_bytes(std::span(piece).first(count)));
    length += count;
  }
  require<Error>(length > 0 && file.eof(), kProgram,
                 ": this program cannot read itself to tell its measurements from another build's; mount /proc");
  return to_hex(digest.finish()).substr(0, kDigits);
}

}  // namespace blindfl::lab::paper
