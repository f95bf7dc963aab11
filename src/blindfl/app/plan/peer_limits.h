#pragma once

#include <cstdint>

#include "blindfl/app/job/own.h"
#include "blindfl/app/plan/party_shape.h"

// What a peer may announce, as the section private.limits says: looked at before anything is computed or allocated.

namespace blindfl::app {

/// Fewer ids of this party's count as so many: a short list is no reason to refuse an ordinary peer.
constexpr std::uint64_t kFewestIdsCounted = 1000;

/// Throws ConfigError, naming the option, if the peer has more ids than it may, or than it may for `mine` of this
/// party's.
void check_peer_ids(const job::Limits& limits, std::uint64_t mine, std::uint64_t theirs);

/// Throws ConfigError, naming the option, if the peer's features would take more weights than it may ask for.
void check_peer_shape(const job::Limits& limits, const PartyShape& theirs);

}  // namespace blindfl::app
