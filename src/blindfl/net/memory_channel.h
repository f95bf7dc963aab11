#pragma once

#include <memory>
#include <utility>

#include "blindfl/net/channel.h"

namespace blindfl::net {

/// Two ends of a link inside one process: for tests, demos and experiments with both parties as threads.
/// `send` never waits. Destroying or closing one end closes both; what was sent before can still be received.
[[nodiscard]] std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>> make_memory_channels();

}  // namespace blindfl::net
