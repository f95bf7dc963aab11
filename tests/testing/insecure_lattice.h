#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "blindfl/he/lattice/lattice_scheme.h"

namespace blindfl::he::lattice {

/// Parameters below the floor of 128-bit security, which only tests have.
struct InsecureParams {
  static Params make(const ParamsSpec& spec) { return {spec, Params::Floor::kIgnored}; }
};

}  // namespace blindfl::he::lattice

namespace blindfl::testing {

/// The lattice with the moduli that are shipped and an eighth of their degrees: the same steps in an eighth of the
/// time.
inline std::unique_ptr<he::LatticeScheme> make_insecure_lattice() {
  std::vector<he::lattice::Params> sets;
  for (he::lattice::ParamsSpec spec : he::lattice::parameter_sets()) {
    spec.degree /= 8;
    sets.push_back(he::lattice::InsecureParams::make(spec));
  }
  return std::make_unique<he::LatticeScheme>(std::move(sets), he::LatticeScheme::Options{});
}

}  // namespace blindfl::testing
