#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "blindfl/base/thread_pool.h"
#include "blindfl/protocol/align/hidden_table.h"
#include "blindfl/protocol/align/psi_points.h"

// What an A and B call an id between them: a hash of the point that the id becomes times A's secret number. A makes
// them of its own ids; B of its own, by having A multiply blinded points, one for each. Nobody can make one of any
// other id.

namespace blindfl::protocol {

using PseudonymTag = std::array<std::byte, 16>;

struct Pseudonym {
  PseudonymTag tag{};    ///< what both recognise the id by, once B says it
  HiddenKey key;         ///< where A's number for the id is, in its table
  FieldElement pad = 0;  ///< what is added to that number there
};

/// Of each point: SHA-512 behind a prefix of our own.
[[nodiscard]] std::vector<Pseudonym> pseudonyms_of(std::span<const Point> points, ThreadPool& pool);

}  // namespace blindfl::protocol
