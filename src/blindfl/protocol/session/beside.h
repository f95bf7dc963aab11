#pragma once

#include <cstdint>
#include <functional>

namespace blindfl::protocol {

/// Messages that do not depend on another, and cross in its flight, behind it.
struct Beside {
  std::uint64_t bytes = 0;  ///< that this party sends
  std::function<void()> send{};
  std::function<void()> receive{};
};

}  // namespace blindfl::protocol
