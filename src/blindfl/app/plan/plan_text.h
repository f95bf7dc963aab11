#pragma once

#include <string>
#include <vector>

#include "blindfl/protocol/plan/plan_row.h"

// What a planner weighed and chose, in words: on screens, in logs and in reports.

namespace blindfl::app {

/// "A's 300 features, 14 a row", "B's fields 0, 2 and 3, 100 categories", "the 40 x 16 weights", "the layers 64-16-1,
/// relu, and the loss, on shares".
[[nodiscard]] std::string part_in_words(const protocol::PlanRow& row);
/// "exchanged over lattice", "encrypted updates over paillier", "over lattice".
[[nodiscard]] std::string way_in_words(const protocol::PlanRow& row);

/// "128 bits", "112 bits (NIST: until 2030)".
[[nodiscard]] std::string security_in_words(int bits);
/// "divergence 2^-52, statistical distance 2^-43, failed lifts 2^-41 (for the whole run)", of what there is, with what
/// is missing where a figure is less than is aimed at. `exposure` as in LayerCost.
[[nodiscard]] std::string hiding_in_words(const he::Exposure& exposure);
/// Whether each figure is what is aimed at: `he::kHidingOfRun`.
[[nodiscard]] bool hides_enough(const he::Exposure& exposure);

/// A table for a screen or a log, each way with its time and bytes a step on `link`; what is not possible has a number,
/// and the reason stands below. Empty without rows.
[[nodiscard]] std::string table_text(const std::vector<protocol::PlanRow>& rows, const protocol::Link& link);

/// What was chosen, in one line: "A's 300 features: exchanged over lattice; B's 40 features: over lattice", "3
/// tables of A's: exchanged over lattice; the 24 x 16 weights: over lattice".
[[nodiscard]] std::string choice_text(const std::vector<protocol::PlanRow>& rows);
/// The same of several layers, a line for each: "layer 'wide': A's 5 features: exchanged over lattice".
[[nodiscard]] std::vector<std::string> choice_lines(const std::vector<protocol::PlanRow>& rows);

}  // namespace blindfl::app
