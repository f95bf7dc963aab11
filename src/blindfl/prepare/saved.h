#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/base/bytes.h"

// Small things that a preparation is saved as.

namespace blindfl::prepare {

void write_text(ByteSink& out, std::string_view text);
/// Throws ProtocolError if it is longer than what is left, or than 64 KiB.
[[nodiscard]] std::string read_text(ByteSource& in);

void write_texts(ByteSink& out, const std::vector<std::string>& texts);
[[nodiscard]] std::vector<std::string> read_texts(ByteSource& in, std::size_t most);

/// Throws DataError if it is beyond `most`.
[[nodiscard]] std::size_t read_count(ByteSource& in, std::size_t most);

}  // namespace blindfl::prepare
