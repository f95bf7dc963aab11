#pragma once

#include <string_view>

namespace blindfl {

/// A has features. B has features and the labels.
enum class Party { kA, kB };

[[nodiscard]] constexpr Party peer_of(Party party) {
  return party == Party::kA ? Party::kB : Party::kA;
}

/// "A" or "B".
[[nodiscard]] constexpr std::string_view name_of(Party party) {
  return party == Party::kA ? "A" : "B";
}

}  // namespace blindfl
