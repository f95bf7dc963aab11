#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace blindfl {

/// The bytes of the character that a text begins with: 1 to 4, or 0 if what it begins with is not UTF-8 or it is empty.
[[nodiscard]] std::size_t utf8_length(std::string_view text);

[[nodiscard]] bool is_utf8(std::string_view text);

/// Adds a character to a text. Throws InvalidArgument if there is no such character: a surrogate, or beyond U+10FFFF.
void append_utf8(std::string& text, char32_t character);

}  // namespace blindfl
