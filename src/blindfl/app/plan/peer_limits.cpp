#include "blindfl/app/plan/peer_limits.h"

#include <algorithm>

#include "blindfl/base/error.h"

namespace blindfl::app {

void check_peer_ids(const job::Limits& limits, std::uint64_t mine, std::uint64_t theirs) {
  require<ConfigError>(theirs <= limits.peer_ids, "the peer announces ", theirs,
                       " ids, and private.limits.peer_ids is ", limits.peer_ids,
                       "; if the peer really has so many, raise it");
  const std::uint64_t counted = std::max(mine, kFewestIdsCounted);
  require<ConfigError>(static_cast<double>(theirs) <= limits.peer_ratio * static_cast<double>(counted),
                       "the peer announces ", theirs, " ids and this party has ", mine,
                       ": more than private.limits.peer_ratio allows (", limits.peer_ratio, " for each of ", counted,
                       "). Whoever lists ids that it only guesses learns which of them this party has; if the peer "
                       "really has so many, raise it");
}

void check_peer_shape(const job::Limits& limits, const PartyShape& theirs) {
  require<ConfigError>(theirs.numeric <= limits.peer_features, "the peer announces ", theirs.numeric,
                       " numeric features, and private.limits.peer_features is ", limits.peer_features,
                       "; if the peer really has so many, raise it: this party keeps a share of each one's weights");
  std::uint64_t categories = 0;  // at most 4096 fields of at most 2^32: no overflow
  for (const CategoryField& field : theirs.fields) categories += field.categories;
  require<ConfigError>(categories <= limits.peer_categories, "the peer announces ", categories,
                       " categories, and private.limits.peer_categories is ", limits.peer_categories,
                       "; if the peer really has so many, raise it: this party keeps a share of each one's embedding");
}

}  // namespace blindfl::app
