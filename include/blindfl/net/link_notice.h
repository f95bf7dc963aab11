#pragma once

#include <string>

namespace blindfl::net {

/// What a party should know while it waits for a link.
struct LinkNotice {
  std::string words;     ///< for people
  std::string detail;    ///< what the library below said, for whoever looks for the cause; may be empty
  bool is_back = false;  ///< the link is there again
};

}  // namespace blindfl::net
