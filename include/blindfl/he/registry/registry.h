#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/he/scheme.h"

namespace blindfl::he {

/// A scheme with its shipped parameters, by the name that files and command lines give it.
struct SchemeEntry {
  std::string_view name;
  std::string_view family;  ///< what the scheme calls itself: of each family a session has one
  std::string_view title;   ///< of the family, in a sentence
  std::string_view keys;    ///< what tells it from others of its family
  int security_bits;
  bool updates;  ///< it can update under encryption
  std::unique_ptr<Scheme> (*make)();
};

/// All schemes, the default first. This is the only list of them: what reads a name from a file or a command line asks
/// here.
[[nodiscard]] std::span<const SchemeEntry> all_schemes();
[[nodiscard]] std::vector<std::string> scheme_names();

/// Throws ConfigError, naming those there are, if there is none of that name.
[[nodiscard]] const SchemeEntry& scheme_entry(std::string_view name);
/// The first of a family with at least `security_bits`; `entry` itself if it has them, or if there is none.
[[nodiscard]] const SchemeEntry& at_security(const SchemeEntry& entry, int security_bits);

/// The scheme of that name with its shipped parameters: "lattice"; "paillier" with keys of 2048 bits, "paillier-3072"
/// with longer ones. Both sizes call themselves "paillier", so a session has one of them.
/// Throws ConfigError, naming those there are, if there is none.
[[nodiscard]] std::unique_ptr<Scheme> make_scheme(std::string_view name);

}  // namespace blindfl::he
