#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace blindfl::app::job {

/// Lines of at most `width` characters, broken at spaces; a longer word gets a line of its own.
[[nodiscard]] std::vector<std::string> broken_into_lines(std::string_view text, std::size_t width);

}  // namespace blindfl::app::job
