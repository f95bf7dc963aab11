#pragma once

#include "blindfl/he/paillier/paillier_scheme.h"

namespace blindfl::he::paillier {

/// Keys that are too small for use, and quick: for tests only.
struct InsecureParams {
  static Params make(int key_bits = 1024) { return {{.key_bits = key_bits}, Params::Floor::kIgnored}; }
};

}  // namespace blindfl::he::paillier
