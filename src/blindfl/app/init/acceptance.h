#pragma once

#include <filesystem>
#include <iosfwd>

#include "blindfl/app/cli/command.h"
#include "blindfl/app/init/questions.h"
#include "blindfl/app/job/own.h"

namespace blindfl::app::init {

/// What A accepts that B could work out (`private.accept`): --accept says it, or somebody at the terminal, who is told
/// what it is about. Nothing where nobody says.
/// Throws UsageError for a word that is none.
[[nodiscard]] job::Acceptance read_acceptance(const Arguments& arguments, Questions& questions, const job::Model& model,
                                              std::ostream& out);

/// Says, where nothing was accepted, that training will not start, and what to write into A's job file.
void tell_acceptance(job::Acceptance accepted, const job::Model& model, const std::filesystem::path& file,
                     std::ostream& out);

}  // namespace blindfl::app::init
