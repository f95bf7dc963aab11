#pragma once

#include <string>
#include <string_view>

#include "blindfl/protocol/step_cost.h"

// How planners name what they weigh.

namespace blindfl::protocol {

/// "exchanged over lattice", "encrypted updates over paillier".
[[nodiscard]] std::string way_in_words(Update update, std::string_view scheme);
/// "A's", "B's".
[[nodiscard]] std::string whose(Party party);

/// Appends `what`, after `separator` if there is something before it.
void append(std::string& to, std::string_view separator, std::string_view what);

}  // namespace blindfl::protocol
