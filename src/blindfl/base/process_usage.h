#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "blindfl/base/error.h"

namespace blindfl {

/// Processor time so far, in seconds, of this process (RUSAGE_SELF) or of those it has waited for (RUSAGE_CHILDREN).
inline double processor_seconds(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// A line of /proc/self/status, in bytes.
inline std::uint64_t memory_now(std::string_view name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name)) return std::strtoull(line.c_str() + name.size(), nullptr, 10) << 10;
  }
  fail<Error>("this system does not tell how much memory a process has");
}

/// How far this process' memory grew at most since this was made.
class PeakMemory {
 public:
  PeakMemory() {
    std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins anew
    start_ = memory_now("VmRSS:");
  }
  [[nodiscard]] std::uint64_t growth() const {
    const std::uint64_t peak = memory_now("VmHWM:");
    return peak > start_ ? peak - start_ : 0;
  }

 private:
  std::uint64_t start_ = 0;
};

}  // namespace blindfl
