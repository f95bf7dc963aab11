#include "blindfl/he/paillier/params.h"

#include "blindfl/base/error.h"

namespace blindfl::he::paillier {

Params::Params(const ParamsSpec& spec) : Params(spec, Floor::kEnforced) {}

Params::Params(const ParamsSpec& spec, Floor floor) : key_bits_(spec.key_bits) {
  const bool offered = key_bits_ == 2048 || key_bits_ == 3072 || (floor == Floor::kIgnored && key_bits_ == 1024);
  require<InvalidArgument>(offered, "Paillier keys have 2048 or 3072 bits, not ", key_bits_);
}

std::string Params::describe() const {
  return "key_bits=" + std::to_string(key_bits_);
}

}  // namespace blindfl::he::paillier
