#pragma once

#include <string>
#include <vector>

#include "blindfl/protocol/plan/embed_planner.h"

// How the planner of an Embed-MatMul layer says what it chose: fields that are alike together.

namespace blindfl::protocol {

/// "the weights, A's fields 0, 2 and 3 and B's field 1".
[[nodiscard]] std::string parts_in_words(const std::vector<EmbedPart>& parts);

/// A's fields, B's fields and the weights, with all that was weighed; fields that are alike share rows, which have the
/// cost of all of them.
[[nodiscard]] std::vector<PlanRow> rows_of(const EmbedMatMulParams& params, const std::vector<EmbedPart>& parts);

}  // namespace blindfl::protocol
