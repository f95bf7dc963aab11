#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "blindfl/lab/paper/cell.h"
#include "blindfl/lab/paper/data_sets.h"
#include "blindfl/lab/paper/study.h"

namespace blindfl::lab::paper {

/// Mini-batches of SecureML on a set's shape: triplets by oblivious transfer, by the lattice scheme, and by a third
/// party.
[[nodiscard]] std::vector<Cell> secureml_cells(const PaperSet& set, const StudyOptions& options);

/// Whether a result of these is what smaller numbers of features say, continued along a straight line.
[[nodiscard]] bool was_predicted(const CellResult& result);

/// For each data set with results `ways` apart, whether the one at `way` was refused or predicted, in words.
[[nodiscard]] std::string secureml_refusals(std::span<const CellResult> results, std::size_t ways, std::size_t way);

}  // namespace blindfl::lab::paper
