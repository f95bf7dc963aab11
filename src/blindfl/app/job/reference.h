#pragma once

#include <string>
#include <string_view>

#include "blindfl/app/job/entry.h"

namespace blindfl::app::job {

/// What an option means, what it may be, and what happens if it is left out; if it has a default, only what `standard`
/// says.
[[nodiscard]] std::string explanation(const Entry& entry, std::string_view standard = {});

/// docs/parameters.md: a table for each section.
[[nodiscard]] std::string reference_page();

/// The same for a terminal, 120 characters wide. `only` is the key of a section or an option, or empty for all.
/// Throws ConfigError, with the nearest there is, if there is none of that key.
[[nodiscard]] std::string reference_text(std::string_view only = {});

}  // namespace blindfl::app::job
