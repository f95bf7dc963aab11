#pragma once

#include <iosfwd>
#include <optional>
#include <span>

#include "blindfl/app/init/link_files.h"
#include "blindfl/app/init/party_draft.h"
#include "blindfl/app/job/template.h"

namespace blindfl::app::init {

/// The section that both parties must say alike, and what its readers should know.
struct SharedDraft {
  job::Shared shared{};
  job::Remarks remarks{};
};

/// The section that both parties must say alike: from the peer's file (--shared-from), or from what the drafts tell,
/// --model, --classes and --align. What it guesses, and why, goes to `out`; so does all that tells of labels.
/// Throws UsageError, naming the flag, for what is missing or contradicts the data; ConfigError if the peer's file is
/// unusable.
[[nodiscard]] SharedDraft draft_shared(std::span<const PartyDraft> drafts, const Arguments& arguments,
                                       Questions& questions, std::ostream& out);

/// The way to the peer, and the files that it needs; none without TLS.
struct LinkDraft {
  job::Link link{};
  std::optional<LinkFiles> files{};
};

/// The way to the peer, for a job file in `folder`: --listen or --dial, and --certificate, --key and --peer, or what
/// `find_link_files` finds, or --plaintext. Throws UsageError, naming the flag, for what is missing or contradicts
/// itself.
[[nodiscard]] LinkDraft draft_link(Party party, const std::filesystem::path& folder, const Arguments& arguments,
                                   Questions& questions);
/// Both parties on this machine, without TLS.
[[nodiscard]] job::Link local_link(Party party);

}  // namespace blindfl::app::init
