#pragma once

#include <string>
#include <string_view>

#include "blindfl/protocol/plan/step_cost.h"

// How planners name what they weigh.

namespace blindfl::protocol {

/// "exchanged over lattice", "encrypted updates over paillier".
[[nodiscard]] std::string way_in_words(Update update, std::string_view scheme);
/// "A's", "B's".
[[nodiscard]] std::string whose(Party party);

/// "128 bits", "112 bits (NIST: until 2030)".
[[nodiscard]] std::string security_in_words(int bits);
/// "43 bits for the whole run", with what is missing where that is less than is aimed at. `exposure` as in LayerCost.
[[nodiscard]] std::string hiding_in_words(double exposure);

/// Appends `what`, after `separator` if there is something before it.
void append(std::string& to, std::string_view separator, std::string_view what);

}  // namespace blindfl::protocol
