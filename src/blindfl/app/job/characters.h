#pragma once

#include <string_view>

namespace blindfl::app::job {

/// What some editors begin a file of UTF-8 with.
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Throws ConfigError, beginning with `source`, line and column, unless `text` is UTF-8 without control characters, and
/// no line is indented with a tab.
void check_characters(std::string_view text, std::string_view source);

}  // namespace blindfl::app::job
