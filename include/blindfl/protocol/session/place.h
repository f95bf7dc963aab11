#pragma once

#include <cstddef>

namespace blindfl::protocol {

/// B may have several A's: no more than this.
constexpr std::size_t kMostPeers = 16;

/// Which of B's A's a session is with, and how many there are. Public: all parties count them in B's order.
struct Place {
  std::size_t index = 0;
  std::size_t of = 1;

  [[nodiscard]] bool several() const { return of > 1; }
  bool operator==(const Place&) const = default;
};

}  // namespace blindfl::protocol
