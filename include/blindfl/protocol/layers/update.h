#pragma once

#include <string_view>

namespace blindfl::protocol {

/// How A's weights learn.
enum class Update {
  kExchanged,  ///< gradients travel as shares, and both parties update theirs of the weights: the paper's way
  kEncrypted,  ///< A updates encrypted weights by itself: what travels does not depend on the number of features
};

/// Where a scheme is named: none, but oblivious transfer. For tables that learn from exchanged gradients.
inline constexpr std::string_view kByOt = "ot";

}  // namespace blindfl::protocol
