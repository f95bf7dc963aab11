#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "blindfl/protocol/align/psi_points.h"

// The union of two parties' ids, in an order that tells neither which ids both have. Every id x gets the same name at
// both parties, the point h(x) a b m n, where a and m are A's secret numbers, b and n are B's; the union is in the
// order of the names. A's half, with A's ids x and B's ids y; B's half is its mirror image, at the same time:
//
//   A                                              B
//   h(x) a, shuffled               --31-->         h(x) a b n in the order received, h(x) a b in another order
//                                  <--32, 33--
//   names its own: h(x) a b n, times m
//   knows h(y) a b from B's blinded ids: those not among h(x) a b are the ids that A lacks
//   h(y) a b m t, shuffled         --34-->         times n
//                                  <--35--
//   names those it lacks: divided by t
//
// A gets its own names in its own order, but which of its ids B has too only in B's order; n, which A does not know,
// lies between the two. t hides from B which of its own ids, whose h(y) a b m it has, A lacks. (Buddhavarapu and
// others, "Private matching for compute", eprint 2020/599, have the idea of such names.)

namespace blindfl::protocol {

/// One party's steps towards the union, without a link. Its letters are those of the comment above, as A has them.
class UnionSteps {
 public:
  /// `blinding` is what this party blinded its own ids with; `theirs` are all blinded ids of the peer.
  UnionSteps(BlindingKey blinding, Points theirs, Random& random);

  /// Message 32: the peer's ids from `begin` to `end`, blinded by this party too, and times `m`.
  [[nodiscard]] Points label_theirs(std::uint64_t begin, std::uint64_t end, ThreadPool& pool) const;
  /// Message 33: the peer's ids from `begin` to `end` of another order, blinded by this party too. Call it for all of
  /// them, from the first to the last.
  [[nodiscard]] Points shuffle_theirs(std::uint64_t begin, std::uint64_t end, ThreadPool& pool);

  /// Takes the peer's message 33, this party's own ids. Returns how many of them the peer has too.
  std::uint64_t compare(const Points& own, Random& random);

  /// Message 34, from `begin` to `end`.
  [[nodiscard]] Points veil_missing(std::uint64_t begin, std::uint64_t end, ThreadPool& pool) const;
  /// What becomes the peer's names, when it takes its veil off: its message 34 makes message 35. The same step makes
  /// names of the peer's message 32, this party's own ids.
  [[nodiscard]] Points name(std::span<const Point> points, ThreadPool& pool) const;
  /// Names of the ids that this party lacks, from the peer's message 35.
  [[nodiscard]] Points unveil(std::span<const Point> points, ThreadPool& pool) const;

 private:
  BlindingKey blinding_;
  BlindingKey label_;
  BlindingKey veil_;
  Points theirs_;
  std::vector<std::uint32_t> order_;
  Points double_blinded_;  ///< theirs, in `order_`
  Points missing_;
};

}  // namespace blindfl::protocol
