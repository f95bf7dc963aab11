#pragma once

#include <cstdint>
#include <span>

#include "blindfl/base/bytes.h"

namespace blindfl::net {

/// A link to one peer that carries bytes, in order and unchanged: what a `Channel` sends its messages over. One thread
/// may write while another reads.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  /// Waits once more than `send_capacity()` bytes are under way. Throws TransportError if the link is closed.
  virtual void write(ByteView bytes) = 0;
  /// Fills `out` completely. Throws TransportError if the link is closed.
  virtual void read(std::span<std::byte> out) = 0;
  /// Would `read` find at least one byte, or an error, without waiting?
  [[nodiscard]] virtual bool has_arrived() const = 0;
  /// Bytes that `write` takes without waiting for the peer to read.
  [[nodiscard]] virtual std::uint64_t send_capacity() const = 0;
  /// Ends the link and wakes whoever waits in it; the peer can still read what was written before. Any thread; harmless
  /// the second time.
  virtual void close() = 0;
};

}  // namespace blindfl::net
