#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/protocol/align/psi.h"
#include "testing/plain/plain_scheme.h"
#include "testing/two_parties.h"

namespace blindfl::protocol {

/// How many ids each party has, and how many of them both.
struct IdSets {
  std::size_t a = 0;
  std::size_t b = 0;
  std::size_t common = 0;
};

using Ids = std::vector<std::string>;

/// Ids of A and of B, in another order at each.
inline std::pair<Ids, Ids> make_ids(const IdSets& sets) {
  SeededRandom random(sets.a + 1000 * sets.b + 1000000 * sets.common);
  const auto shuffle = [&](Ids ids) {
    for (std::size_t left = ids.size(); left > 1; --left) std::swap(ids[left - 1], ids[random.below(left)]);
    return ids;
  };
  const auto id = [](std::size_t number) { return "person number " + std::to_string(number); };
  Ids a;
  Ids b;
  for (std::size_t i = 0; i < sets.a; ++i) a.push_back(id(i));
  for (std::size_t i = 0; i < sets.b; ++i) b.push_back(id(sets.a - sets.common + i));
  return {shuffle(std::move(a)), shuffle(std::move(b))};
}

/// Few ids in a message, so that there are several messages.
inline AlignmentOptions options_of(AlignmentKind kind) {
  return {.kind = kind, .ids_per_message = 8};
}

/// Both parties' alignments.
inline std::pair<Alignment, Alignment> align_both(testing::TwoParties& parties, const std::pair<Ids, Ids>& ids,
                                                  const AlignmentOptions& options) {
  return parties.run([&](Session& s) { return align(s, s.party() == Party::kA ? ids.first : ids.second, options); });
}

inline constexpr std::array kAllKinds{AlignmentKind::kBoth, AlignmentKind::kOnlyB, AlignmentKind::kUnion};

}  // namespace blindfl::protocol
