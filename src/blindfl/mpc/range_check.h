#pragma once

#include <cstddef>
#include <cstdint>

#include "blindfl/mpc/party_cost.h"
#include "blindfl/share/share_matrix.h"

namespace blindfl::mpc {

/// One bit, to both parties: whether all values lie between `low` and `high`, both included, as far as their scale
/// tells. `z` hides values of `bits` bits, sign included; the interval's ends have no more. A value of more bits is
/// taken for what is left of it: take as many as a run that goes wrong may reach, since that is what is looked for.
///
/// All values are compared with both ends; then bits are multiplied pairwise until one is left, and that is opened.
/// Cost: `all_in_range_cost`. Reveals: that bit, and neither which value nor how many. Never wrong.
/// Throws InvalidArgument as `compare` does, or for an interval that is empty or has more bits; ProtocolError if the
/// peer's random OTs are others, before anything is opened.
[[nodiscard]] bool all_in_range(Session& session, std::uint32_t layer, const ShareMatrix& z, double low, double high,
                                int bits);
[[nodiscard]] PartyCost all_in_range_cost(std::size_t values, int bits);

}  // namespace blindfl::mpc
