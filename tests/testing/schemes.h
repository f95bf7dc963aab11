#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "blindfl/he/plain/plain_scheme.h"

namespace blindfl::testing {

/// Every scheme there is: tests that hold for all of them are written once, over this list.
inline std::vector<std::string> scheme_names() {
  return {"plain"};
}

inline std::unique_ptr<he::Scheme> make_scheme(const std::string& name) {
  if (name == "plain") return std::make_unique<he::PlainScheme>();
  throw std::invalid_argument("no scheme " + name);
}

}  // namespace blindfl::testing
