#pragma once

#include <span>
#include <string>

#include "blindfl/app/init/party_draft.h"
#include "blindfl/app/job/shared.h"

namespace blindfl::app::init {

/// One line for a model with embeddings where one-hot columns would be clearly cheaper, by the planner's estimate for
/// these columns; a peer whose data is not here is taken to have the same. Empty otherwise.
[[nodiscard]] std::string one_hot_hint(std::span<const PartyDraft> drafts, const job::Shared& shared);

}  // namespace blindfl::app::init
