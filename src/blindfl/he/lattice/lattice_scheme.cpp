#include "blindfl/he/lattice/lattice_scheme.h"

#include "blindfl/he/lattice/key_owner.h"
#include "blindfl/he/lattice/keys.h"
#include "blindfl/he/lattice/lattice_plan.h"
#include "blindfl/he/lattice/multiplier.h"

namespace blindfl::he {

LatticeScheme::LatticeScheme(lattice::Params params, const Options& options)
    : params_(std::make_shared<const lattice::Params>(std::move(params))),
      kernels_(options.kernels != nullptr ? options.kernels : lattice::available_kernels().front()) {}

std::uint64_t LatticeScheme::public_key_bytes() const {
  return lattice::PublicKey::bytes(*params_);
}

std::unique_ptr<KeyOwner> LatticeScheme::generate_keys(Random& random) const {
  return std::make_unique<lattice::LatticeKeyOwner>(params_, *kernels_, random);
}

std::unique_ptr<Multiplier> LatticeScheme::multiplier(ByteView public_key) const {
  return std::make_unique<lattice::LatticeMultiplier>(params_, *kernels_, public_key);
}

std::shared_ptr<const Plan> LatticeScheme::do_plan(const ProductSpec& spec) const {
  return std::make_shared<lattice::LatticePlan>(*params_, spec);
}

}  // namespace blindfl::he
