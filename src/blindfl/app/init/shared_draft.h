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

}  // namespace blindfl::app::init
