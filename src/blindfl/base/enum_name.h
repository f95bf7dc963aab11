#pragma once

#include <string_view>

namespace blindfl {

/// What people call a value of an enumeration, in job files for instance. An enumeration that may be there has a
/// `names_of(E)` beside it, which gives one for each value that people may choose.
template <class E>
struct Name {
  std::string_view name;
  E value;
};

}  // namespace blindfl
