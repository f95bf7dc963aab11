#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "blindfl/base/random.h"
#include "blindfl/protocol/align/alignment.h"
#include "blindfl/protocol/align/psi_points.h"

// What a party makes of two lists of points, by itself: which are equal, in which order, and which rows those are.

namespace blindfl::protocol {

/// For a place that a party has no row for.
constexpr std::uint32_t kNoRow = std::numeric_limits<std::uint32_t>::max();

/// This party's ids as points: `points[i]` is that of row `rows[i]`.
struct OwnPoints {
  Points points;
  std::vector<std::uint32_t> rows;
};

/// Points in an order, and this party's row for each; `kNoRow` where it has none.
struct MatchedPoints {
  Points points;
  std::vector<std::uint32_t> rows;
};

/// 0 to `count - 1` in a random order, each as likely as any other.
[[nodiscard]] std::vector<std::uint32_t> shuffled(std::uint32_t count, Random& random);

/// Throws DataError, with how many and the first two rows, if an id occurs twice.
void require_distinct(std::span<const std::string> ids);

/// The points that are in both, ascending.
[[nodiscard]] MatchedPoints intersection(const OwnPoints& own, const Points& theirs);

/// All of `theirs` in their order.
[[nodiscard]] MatchedPoints rows_of(const OwnPoints& own, const Points& theirs);

/// All of `own` and `others`, ascending. Throws ProtocolError if a point is in it twice.
[[nodiscard]] MatchedPoints union_of(const OwnPoints& own, const Points& others);

/// Those of `points` that are not in `without`, in their order.
[[nodiscard]] Points difference(const Points& points, const Points& without);

/// These rows, each about the id of its place.
[[nodiscard]] Alignment all_real(std::vector<std::uint32_t> rows);

/// The rows with others in place of `kNoRow`: drawn from those of this party's `count` rows that are at no place, each
/// once; when none is left, from all of them, as evenly as possible. Equal features at two places would open the
/// difference of what the peer's rows there contribute: so no row comes twice unless it must.
/// Throws InvalidArgument if there is a place to fill and no row.
[[nodiscard]] Alignment with_stand_ins(std::vector<std::uint32_t> rows, std::uint32_t count, Random& random);

}  // namespace blindfl::protocol
