#pragma once

#include <cstdint>
#include <vector>

#include "blindfl/base/bytes.h"

namespace blindfl {

/// CRC-32C (Castagnoli) of `bytes`, continuing from `crc` (0 to begin): finds accidents, not attackers.
[[nodiscard]] std::uint32_t crc32c(ByteView bytes, std::uint32_t crc = 0);

/// A way of computing it: all give the same.
struct Crc32cWay {
  const char* name;
  std::uint32_t (*of)(ByteView bytes, std::uint32_t crc);
};
/// Those that this processor has, the fastest first; the last runs everywhere.
[[nodiscard]] const std::vector<Crc32cWay>& crc32c_ways();

}  // namespace blindfl
