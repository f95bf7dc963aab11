#pragma once

#include <string>
#include <vector>

#include "blindfl/run/disclosure.h"

// What several A's change of who learns what: each source layer is opened by itself, and hides one A's part only where
// another A has features in it, too.

namespace blindfl::run {

/// Of each source layer under an open top: what B sees of one A's part there without that of another A. In words
/// without a capital letter or a full stop; none where there is nothing to say. With several A's, of a layer that only
/// one of them has features for, at one of them only if it is the one; of any, of a layer that B has none for, unless
/// it has none at all.
[[nodiscard]] std::vector<std::string> lone_parts(const DisclosureFacts& model);

/// Names of the layers, as "numeric features" and "categories", of which B has none itself and only one A has any: what
/// it sees of them is that A's part outright.
[[nodiscard]] std::vector<std::string> outright_layers(const DisclosureFacts& model);

/// Adds to what holds for all A's together what several are told besides.
void add_several(Party party, const DisclosureFacts& model, Disclosure& all);

/// The words with a capital letter and a full stop.
[[nodiscard]] std::string as_sentence(std::string words);

}  // namespace blindfl::run
