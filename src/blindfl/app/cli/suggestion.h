#pragma once

#include <span>
#include <string_view>

namespace blindfl::app {

/// Which of `names` somebody meant who wrote `word`: the nearest, or one that begins like it. Empty if it resembles
/// none of them.
[[nodiscard]] std::string_view nearest(std::string_view word, std::span<const std::string_view> names);

}  // namespace blindfl::app
