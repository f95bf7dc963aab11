#include "blindfl/he/registry/registry.h"

#include "blindfl/base/error.h"
#include "blindfl/base/text.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/he/paillier/paillier_scheme.h"

namespace blindfl::he {

namespace {

struct Entry {
  const char* name;
  std::unique_ptr<Scheme> (*make)();
};

template <int kKeyBits>
std::unique_ptr<Scheme> make_paillier() {
  return std::make_unique<PaillierScheme>(paillier::Params({.key_bits = kKeyBits}), PaillierScheme::Options{});
}

constexpr Entry kSchemes[] = {
    {"lattice", []() -> std::unique_ptr<Scheme> { return std::make_unique<LatticeScheme>(); }},
    {"paillier", make_paillier<2048>},
    {"paillier-3072", make_paillier<3072>},
};

}  // namespace

std::vector<std::string> scheme_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kSchemes) names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<Scheme> make_scheme(std::string_view name) {
  std::string known;
  for (const Entry& entry : kSchemes) {
    if (name == entry.name) return entry.make();
    if (!known.empty()) known += ", ";
    known += entry.name;
  }
  fail<ConfigError>("there is no scheme '", printable(name), "', only: ", known);
}

}  // namespace blindfl::he
