#pragma once

namespace blindfl::lab::attacks {

/// How often an attack is right, and how often somebody who sees nothing would be.
struct Success {
  double value = 0;
  double chance = 0;
};

}  // namespace blindfl::lab::attacks
