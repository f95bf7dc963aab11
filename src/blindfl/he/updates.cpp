#include "blindfl/he/updates.h"

namespace blindfl::he {

std::string no_updates(const Scheme& scheme, std::string_view layer, std::string_view what) {
  return "layer '" + std::string(layer) + "': updates under encryption need the scheme 'paillier' for " +
         std::string(what) + ", not '" + std::string(scheme.name()) + "'";
}

}  // namespace blindfl::he
