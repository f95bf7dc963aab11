#pragma once

#include <string_view>

#include "blindfl/base/bytes.h"

namespace blindfl {

constexpr std::size_t kDigestBytes = 32;

/// SHA-256.
[[nodiscard]] Bytes digest_of(ByteView bytes);
[[nodiscard]] inline Bytes digest_of(std::string_view text) {
  return digest_of(as_bytes(text));
}

}  // namespace blindfl
