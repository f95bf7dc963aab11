#pragma once

#include <cstdint>

#include "blindfl/base/bytes.h"

namespace blindfl {

/// CRC-32C (Castagnoli) of `bytes`, continuing from `crc` (0 to begin): finds accidents, not attackers.
[[nodiscard]] std::uint32_t crc32c(ByteView bytes, std::uint32_t crc = 0);

/// The same without the processor's instruction: the portable path, for tests.
[[nodiscard]] std::uint32_t crc32c_portable(ByteView bytes, std::uint32_t crc = 0);

}  // namespace blindfl
