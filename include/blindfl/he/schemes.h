#pragma once

#include <memory>
#include <vector>

#include "blindfl/he/scheme.h"

namespace blindfl::he {

/// The schemes that a party may use, the default first. Whoever has the list keeps them.
using Schemes = std::vector<std::shared_ptr<const Scheme>>;

/// The same, for whoever does not keep them.
[[nodiscard]] inline std::vector<const Scheme*> pointers_to(const Schemes& schemes) {
  std::vector<const Scheme*> pointers;
  pointers.reserve(schemes.size());
  for (const auto& scheme : schemes) pointers.push_back(scheme.get());
  return pointers;
}

/// A list of schemes that somebody else keeps, for at least as long.
[[nodiscard]] inline Schemes borrowed(const std::vector<const Scheme*>& schemes) {
  Schemes list;
  for (const Scheme* scheme : schemes) list.emplace_back(std::shared_ptr<const Scheme>(), scheme);
  return list;
}

}  // namespace blindfl::he
