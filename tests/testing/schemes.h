#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "blindfl/he/lattice/lattice_scheme.h"
#include "testing/insecure_paillier.h"
#include "testing/plain/plain_scheme.h"

namespace blindfl::testing {

/// Every scheme there is: tests that hold for all of them are written once, over this list. The lattice at the shipped
/// parameters; Paillier with small keys, because its time grows with their cube.
inline std::vector<std::string> scheme_names() {
  return {"plain", "noisy", "lattice", "paillier"};
}

/// The same with every set of kernels that this processor can run.
inline std::vector<std::string> scheme_and_kernel_names() {
  std::vector<std::string> names{"plain", "noisy"};
  for (const he::lattice::Kernels* kernels : he::lattice::available_kernels()) {
    names.push_back("lattice_" + std::string(kernels->name));
  }
  for (const std::string_view kernels : he::paillier::available_kernels()) {
    names.push_back("paillier_" + std::string(kernels));
  }
  return names;
}

inline std::unique_ptr<he::Scheme> make_scheme(const std::string& name) {
  if (name == "plain") return std::make_unique<testing::PlainScheme>();
  if (name == "noisy") return std::make_unique<testing::PlainScheme>(testing::PlainScheme::Options{.noisy = true});
  if (name == "lattice") return std::make_unique<he::LatticeScheme>();
  const std::string prefix = "lattice_";
  if (name.starts_with(prefix)) {
    const he::lattice::Kernels& kernels = he::lattice::kernels_by_name(name.substr(prefix.size()));
    return std::make_unique<he::LatticeScheme>(he::LatticeScheme::Options{&kernels});
  }
  if (name == "paillier_2048") return std::make_unique<he::PaillierScheme>();
  if (name == "paillier") {
    return std::make_unique<he::PaillierScheme>(he::paillier::InsecureParams::make(), he::PaillierScheme::Options{});
  }
  const std::string paillier = "paillier_";
  if (name.starts_with(paillier)) {
    return std::make_unique<he::PaillierScheme>(he::paillier::InsecureParams::make(),
                                                he::PaillierScheme::Options{name.substr(paillier.size())});
  }
  throw std::invalid_argument("no scheme " + name);
}

}  // namespace blindfl::testing
