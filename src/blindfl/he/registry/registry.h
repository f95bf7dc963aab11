#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/he/scheme.h"

namespace blindfl::he {

/// The names that `make_scheme` knows, the default first. This is the only list of schemes: what reads a name from a
/// file or a command line asks here.
[[nodiscard]] std::vector<std::string> scheme_names();

/// The scheme of that name with its shipped parameters: "lattice"; "paillier" with keys of 2048 bits, "paillier-3072"
/// with longer ones. Both sizes call themselves "paillier", so a session has one of them.
/// Throws ConfigError, naming those there are, if there is none.
[[nodiscard]] std::unique_ptr<Scheme> make_scheme(std::string_view name);

}  // namespace blindfl::he
