#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "blindfl/base/digest.h"
#include "blindfl/protocol/session/session.h"
#include "blindfl/protocol/session/sessions.h"

// Which alignments of the file that it is about to score a party has kept from earlier scorings: where all have the
// same, they score in the same order again, and nothing new is opened.

namespace blindfl::protocol {

/// What both parties know one alignment of their files by.
using AlignmentId = std::array<std::byte, kDigestBytes>;

/// The newest first.
using AlignmentOffer = std::vector<AlignmentId>;

constexpr std::size_t kMostOffered = 16;
constexpr std::size_t kAlignmentOfferBytes = 8 + kMostOffered * kDigestBytes;

/// The name of an alignment that was, or will be, made under this name, which only these two parties' run or session
/// has.
[[nodiscard]] AlignmentId alignment_id(std::string_view name);

void write_alignment_offer(const AlignmentOffer& offer, ByteSink& out);
/// Throws ProtocolError if it is not what `write_alignment_offer` wrote.
[[nodiscard]] AlignmentOffer read_alignment_offer(ByteSource& in);

/// Tells the peer what this party kept of its file, and returns what the peer kept of its own; both must be about to
/// score. Cost: 520 bytes each way. Reveals: which earlier scorings of its file the sender has kept.
[[nodiscard]] AlignmentOffer exchange_alignment_offers(Session& session, const AlignmentOffer& mine);

/// The one that both take: A's newest that B has too. The same at both parties.
[[nodiscard]] std::optional<AlignmentId> common_alignment(const AlignmentOffer& of_a, const AlignmentOffer& of_b);

/// The one that all parties take: the newest of the first A's that everybody has; nothing if there is none. With one A
/// the messages of `exchange_alignment_offers`; with several, B hears all A's first, and tells each that one alone. All
/// parties call it at the same point. Cost: 520 bytes each way on each link. Reveals: to B, which earlier scorings of
/// its file each A has kept; to an A with others beside it, only the result. Throws ProtocolError if what a peer sends
/// is no offer.
[[nodiscard]] std::optional<AlignmentId> agree_on_kept_alignment(const Sessions& sessions, const AlignmentOffer& mine);

}  // namespace blindfl::protocol
