#include "blindfl/he/registry/registry.h"

#include "blindfl/base/error.h"
#include "blindfl/base/text.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/he/paillier/paillier_scheme.h"

namespace blindfl::he {

namespace {

template <int kKeyBits>
std::unique_ptr<Scheme> make_paillier() {
  return std::make_unique<PaillierScheme>(paillier::Params({.key_bits = kKeyBits}), PaillierScheme::Options{});
}

constexpr SchemeEntry kSchemes[] = {
    {"lattice", "lattice", "the lattice", "one size of keys", 128, false,
     []() -> std::unique_ptr<Scheme> { return std::make_unique<LatticeScheme>(); }},
    {"paillier", "paillier", "Paillier", "keys of 2048 bits", 112, true, make_paillier<2048>},
    {"paillier-3072", "paillier", "Paillier", "keys of 3072 bits", 128, true, make_paillier<3072>},
};

}  // namespace

std::span<const SchemeEntry> all_schemes() {
  return kSchemes;
}

std::vector<std::string> scheme_names() {
  std::vector<std::string> names;
  for (const SchemeEntry& entry : kSchemes) names.emplace_back(entry.name);
  return names;
}

const SchemeEntry& scheme_entry(std::string_view name) {
  std::string known;
  for (const SchemeEntry& entry : kSchemes) {
    if (name == entry.name) return entry;
    if (!known.empty()) known += ", ";
    known += entry.name;
  }
  fail<ConfigError>("there is no scheme '", printable(name), "', only: ", known);
}

const SchemeEntry& at_security(const SchemeEntry& entry, int security_bits) {
  if (entry.security_bits >= security_bits) return entry;
  for (const SchemeEntry& other : kSchemes) {
    if (other.family == entry.family && other.security_bits >= security_bits) return other;
  }
  return entry;
}

std::unique_ptr<Scheme> make_scheme(std::string_view name) {
  return scheme_entry(name).make();
}

}  // namespace blindfl::he
