#pragma once

#include <cstdint>

#include "blindfl/net/frame.h"

namespace blindfl::net {

/// What a channel tells of every message that it carried: a ledger, see net/ledger.
class MessageLog {
 public:
  MessageLog() = default;
  MessageLog(const MessageLog&) = delete;
  MessageLog& operator=(const MessageLog&) = delete;
  virtual ~MessageLog() = default;

  /// A message has been sent, or received, completely. `checksum` is what ended its frame. Any thread.
  virtual void write(Direction direction, const Message& message, std::uint32_t checksum) = 0;
  /// There will be no more. Returns when all is safe on disk.
  virtual void close() = 0;
};

}  // namespace blindfl::net
