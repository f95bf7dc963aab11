#pragma once

#include <cstddef>
#include <cstdint>

#include "blindfl/base/digest.h"

namespace blindfl::protocol {

/// Of the protocol: what all messages of a session look like.
inline constexpr std::uint32_t kProtocolVersion = 4;

inline constexpr std::size_t kHelloNonceBytes = 32;

/// The first message of a session: version (4), role (1), nonce (32), digest of the schemes' settings (32).
inline constexpr std::size_t kHelloBytes = 4 + 1 + kHelloNonceBytes + kDigestBytes;

}  // namespace blindfl::protocol
