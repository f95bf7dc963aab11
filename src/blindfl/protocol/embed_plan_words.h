#pragma once

#include <string>
#include <vector>

#include "blindfl/protocol/embed_planner.h"

// How the planner of an Embed-MatMul layer says what it chose: fields that are alike in one sentence, and a reason that
// holds for many fields once.

namespace blindfl::protocol {

/// "the weights, A's fields 0, 2 and 3 and B's field 1".
[[nodiscard]] std::string parts_in_words(const std::vector<EmbedPart>& parts);

/// What each part takes with what was chosen and otherwise, what is not possible and why, and the sum.
[[nodiscard]] std::string why_in_words(const EmbedMatMulParams& params, const std::vector<EmbedPart>& parts,
                                       const Link& link);

}  // namespace blindfl::protocol
