#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "blindfl/protocol/step_cost.h"

// How planners say what they chose and why: numbers with two digits that count, and the names of ways to run a layer.

namespace blindfl::protocol {

/// "1.3 s", "20 ms", "0.5 us".
[[nodiscard]] std::string time_in_words(double seconds);
/// "1.3 GB", "20 MB", "0.5 kB": of what travels.
[[nodiscard]] std::string size_in_words(std::uint64_t bytes);
/// "1.3 GiB", rounded up: of what is kept.
[[nodiscard]] std::string memory_in_words(std::uint64_t bytes);
/// "20 ms and 1.3 MB".
[[nodiscard]] std::string cost_in_words(const StepCost& cost, const Link& link);
/// "exchanged over lattice", "updated under encryption with paillier".
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
