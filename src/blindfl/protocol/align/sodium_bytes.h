#pragma once

#include <sodium.h>

#include <cstddef>
#include <string_view>

#include "blindfl/base/error.h"

// Between our bytes and libsodium's. For sources only: nothing else needs libsodium's header.

namespace blindfl::protocol {

inline unsigned char* raw(std::byte* bytes) {
  return reinterpret_cast<unsigned char*>(bytes);
}
inline const unsigned char* raw(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}
inline const unsigned char* raw(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

/// libsodium chooses its code for this processor once, whoever asks first. Throws Error if it cannot.
inline void start_libsodium() {
  static const bool started = sodium_init() >= 0;
  require<Error>(started, "libsodium cannot start on this machine");
}

}  // namespace blindfl::protocol
