#pragma once

#include <optional>
#include <string>
#include <vector>

#include "blindfl/protocol/plan/step_cost.h"

// What a planner weighed, as values: one row for each way to run each part of a layer. Screens and reports show it as a
// table; nobody has to read it out of sentences.

namespace blindfl::protocol {

/// One way to run one part of a layer.
struct PlanRow {
  std::string layer{};
  std::optional<Party> party{};    ///< whose features or fields; none: the weights of embeddings
  std::string part{};              ///< "300 features, 14 a row", "fields 0, 2 and 3, 100 categories", "40 x 16 weights"
  std::size_t fields = 0;          ///< how many categorical fields it is; 0: it is none
  std::optional<Update> update{};  ///< none where there is but one: B's features, weights of embeddings
  std::string scheme{};
  StepCost step{};        ///< of the whole part: of all its fields
  bool chosen = false;    ///< one row of each part is
  bool asked = false;     ///< whether a choice of the user's fixed some of it
  std::string refused{};  ///< why it is not possible; empty if it is
};

/// "A's 300 features", "the 40 x 16 weights".
[[nodiscard]] std::string part_in_words(const PlanRow& row);
/// "exchanged over lattice", "encrypted updates over paillier", "over lattice".
[[nodiscard]] std::string way_in_words(const PlanRow& row);

/// A table for a screen or a log, each way with its time and bytes a step on `link`; what is not possible has a number,
/// and the reason stands below. Empty without rows.
[[nodiscard]] std::string table_text(const std::vector<PlanRow>& rows, const Link& link);

/// What was chosen, in one line: "A's 300 features: exchanged over lattice; B's 40 features: over lattice", "3
/// tables of A's: exchanged over lattice; the 24 x 16 weights: over lattice".
[[nodiscard]] std::string choice_text(const std::vector<PlanRow>& rows);
/// The same of several layers, a line for each: "layer 'wide': A's 5 features: exchanged over lattice".
[[nodiscard]] std::vector<std::string> choice_lines(const std::vector<PlanRow>& rows);

}  // namespace blindfl::protocol
