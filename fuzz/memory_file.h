#pragma once

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "blindfl/base/bytes.h"
#include "input.h"

namespace blindfl::fuzz {

/// A file that is never on a disk, and its owner's alone.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("fuzz", 0)) {
    check(descriptor_ >= 0 && fchmod(descriptor_, S_IRUSR | S_IWUSR) == 0, "there is a memory file");
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(descriptor_); }

  void replace(ByteView content) const {
    const auto size = static_cast<off_t>(content.size());
    check(ftruncate(descriptor_, size) == 0, "the memory file takes its size");
    check(pwrite(descriptor_, content.data(), content.size(), 0) == size, "the memory file is written");
  }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace blindfl::fuzz
