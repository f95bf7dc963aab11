#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace blindfl::protocol {

/// One party's rows in the order that all parties follow.
struct Alignment {
  std::vector<std::uint32_t> rows;  ///< the row to use at each place; every one exists
  /// Whether that row is about the id of its place. If not, this party has none about it, and it is a placeholder.
  std::vector<bool> real;
  /// Where there are several A's, what all parties know this alignment by, and no other alignment is known by. Empty
  /// with one A: what these two know is their session's id.
  std::string name{};

  [[nodiscard]] std::size_t size() const { return rows.size(); }
};

/// How far an alignment is at this party: points computed, of all that it will compute.
struct AlignmentProgress {
  std::uint64_t done = 0;
  std::uint64_t total = 0;
};

/// Called on the aligning thread after each message's worth of points.
using AlignmentObserver = std::function<void(const AlignmentProgress&)>;

}  // namespace blindfl::protocol
