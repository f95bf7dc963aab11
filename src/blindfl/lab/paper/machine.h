#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace blindfl::lab::paper {

/// What figures were measured on.
struct Machine {
  std::string processor;  ///< as it calls itself
  std::size_t cores = 0;
  std::uint64_t memory = 0;  ///< bytes

  /// "Intel(R) Xeon(R) Processor @ 2.50GHz, 2 cores, 23 GiB of memory".
  [[nodiscard]] std::string text() const;
};

[[nodiscard]] Machine this_machine();

/// 32 hexadecimal digits of the running program's own file: another build has others. Throws Error if it cannot be
/// read.
[[nodiscard]] std::string this_build();

}  // namespace blindfl::lab::paper
