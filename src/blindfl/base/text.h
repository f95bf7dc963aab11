#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "blindfl/base/bytes.h"

namespace blindfl {

/// Two lower-case digits for each byte.
[[nodiscard]] std::string to_hex(ByteView bytes);

/// Whether a text is printable ASCII, spaces included, and nothing else.
[[nodiscard]] bool is_printable(std::string_view text);
/// With '?' for every other character: for words of a peer, which must not command a terminal or break a line.
[[nodiscard]] std::string printable(std::string_view text);

/// Appends `what`, after `separator` if there is something before it.
void append(std::string& to, std::string_view separator, std::string_view what);
/// "1", "1 and 2", "1, 2 and 3".
[[nodiscard]] std::string listed(const std::vector<std::string>& items);

}  // namespace blindfl
