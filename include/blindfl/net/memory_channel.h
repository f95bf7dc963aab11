#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "blindfl/net/channel.h"

namespace blindfl::net {

/// Two ends of a link inside one process: for tests, demos and experiments with both parties as threads.
/// `send` waits only while `capacity` bytes are under way, by default never. Destroying or closing one end closes both;
/// what was sent before can still be received.
[[nodiscard]] std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>> make_memory_channels(
    std::uint64_t capacity = std::numeric_limits<std::uint64_t>::max());

}  // namespace blindfl::net
