#include "blindfl/he/lattice/lattice_scheme.h"

#include <algorithm>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/key_owner.h"
#include "blindfl/he/lattice/keys.h"
#include "blindfl/he/lattice/lattice_elements.h"
#include "blindfl/he/lattice/lattice_plan.h"
#include "blindfl/he/lattice/lattice_slots.h"
#include "blindfl/he/lattice/multiplier.h"

namespace blindfl::he {

namespace {

std::vector<lattice::Params> shipped_sets() {
  std::vector<lattice::Params> sets;
  for (const lattice::ParamsSpec& spec : lattice::parameter_sets()) sets.emplace_back(spec);
  return sets;
}

}  // namespace

LatticeScheme::LatticeScheme(const Options& options) : LatticeScheme(shipped_sets(), options) {}

LatticeScheme::LatticeScheme(std::vector<lattice::Params> sets, const Options& options)
    : kernels_(options.kernels != nullptr ? options.kernels : lattice::available_kernels().front()) {
  require<InvalidArgument>(!sets.empty(), "lattice: at least one set of parameters is needed");
  for (lattice::Params& params : sets) {
    const auto names = key_sets();
    require<InvalidArgument>(std::ranges::find(names, params.name()) == names.end(), "lattice: two sets are called '",
                             params.name(), "', and keys are found by name");
    sets_.push_back(std::make_shared<const lattice::Params>(std::move(params)));
  }
  slots_ = std::make_shared<const lattice::LatticeSlots>(sets_, *kernels_);
  elements_ = std::make_shared<const lattice::LatticeElements>(sets_, *kernels_);
}

std::string LatticeScheme::parameters() const {
  std::string text = "lattice, second edition";
  for (const auto& params : sets_) text += "; " + params->describe();
  return text;
}

std::vector<std::string> LatticeScheme::key_sets() const {
  std::vector<std::string> names;
  for (const auto& params : sets_) names.push_back(params->name());
  return names;
}

int LatticeScheme::security_bits() const {
  int least = sets_.front()->security_bits();
  for (const auto& params : sets_) least = std::min(least, params->security_bits());
  return least;
}

const std::shared_ptr<const lattice::Params>& LatticeScheme::set(const std::string& name) const {
  const auto found = std::ranges::find_if(sets_, [&](const auto& params) { return params->name() == name; });
  require<InvalidArgument>(found != sets_.end(), "lattice: there are no parameters '", name, "'");
  return *found;
}

std::uint64_t LatticeScheme::public_key_bytes(const std::string& key_set) const {
  return lattice::PublicKey::bytes(*set(key_set));
}

std::unique_ptr<KeyOwner> LatticeScheme::generate_keys(const KeySetup& setup, Random& random) const {
  return std::make_unique<lattice::LatticeKeyOwner>(set(setup.set), *kernels_, setup.coin, random);
}

std::unique_ptr<Multiplier> LatticeScheme::multiplier(const KeySetup& setup, ByteView public_key) const {
  return std::make_unique<lattice::LatticeMultiplier>(set(setup.set), *kernels_, setup.coin, public_key);
}

std::shared_ptr<const Slots> LatticeScheme::slots() const {
  return slots_;
}

std::shared_ptr<const Elements> LatticeScheme::elements() const {
  return elements_;
}

std::shared_ptr<const Plan> LatticeScheme::do_plan(const ProductSpec& spec) const {
  return lattice::LatticePlan::choose(sets_, spec);
}

}  // namespace blindfl::he
