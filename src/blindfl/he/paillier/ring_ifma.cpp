#include "blindfl/he/paillier/ring_base.h"

namespace blindfl::he::paillier {

bool ifma_is_supported() {
  return false;
}

std::unique_ptr<const Ring> make_ifma_ring(const BigInt& /*m*/) {
  return nullptr;
}

}  // namespace blindfl::he::paillier
