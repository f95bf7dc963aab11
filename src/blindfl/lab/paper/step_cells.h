#pragma once

#include "blindfl/lab/paper/cell.h"
#include "blindfl/lab/paper/data_sets.h"
#include "blindfl/lab/paper/study.h"

namespace blindfl::lab::paper {

/// Mini-batches of a set's model, real rows where there are some: "seconds", "bytes" and "memory" of one, both parties
/// together, "seconds_before" of what comes once; and "way", which schemes and updates.
[[nodiscard]] Cell step_cell(const PaperSet& set, protocol::Top top, const StudyOptions& options);

/// The same numbers out of a training.
[[nodiscard]] CellResult numbers_of(const TwoPartyTraining& training);

}  // namespace blindfl::lab::paper
