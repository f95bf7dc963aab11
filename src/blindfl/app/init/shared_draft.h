#pragma once

#include <iosfwd>
#include <span>

#include "blindfl/app/init/party_draft.h"

namespace blindfl::app::init {

/// The section that both parties must say alike: from the peer's file (--shared-from), or from what the drafts tell,
/// --model, --classes and --align. What it guesses, and why, goes to `out`.
/// Throws UsageError, naming the flag, for what is missing or contradicts the data; ConfigError if the peer's file is
/// unusable.
[[nodiscard]] job::Shared draft_shared(std::span<const PartyDraft> drafts, const Arguments& arguments,
                                       Questions& questions, std::ostream& out);

/// The way to the peer, for a job file in `folder`: --listen or --dial, and --certificate, --key and --peer, or
/// --plaintext. Throws UsageError, naming the flag, for what is missing or contradicts itself.
[[nodiscard]] job::Link draft_link(job::PartyName party, const std::filesystem::path& folder,
                                   const Arguments& arguments, Questions& questions);
/// Both parties on this machine, without TLS.
[[nodiscard]] job::Link local_link(job::PartyName party);

}  // namespace blindfl::app::init
