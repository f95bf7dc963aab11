#pragma once

#include <mutex>
#include <vector>

#include "blindfl/net/channel.h"

namespace blindfl::net {

/// One message as it crossed the link.
struct RecordedMessage {
  Direction direction{};
  Message message;
  Bytes payload;
};

/// Wraps a channel and keeps every byte: for tests of what a party sees. Never for real runs: it remembers payloads.
class RecordingChannel final : public Channel {
 public:
  /// `inner` must outlive this.
  explicit RecordingChannel(Channel& inner) : inner_(inner) {}

  void write_raw(ByteView bytes) override;
  void read_raw(std::span<std::byte> out) override;
  [[nodiscard]] bool has_arrived() const override { return inner_.has_arrived(); }
  [[nodiscard]] std::uint64_t send_capacity() const override { return inner_.send_capacity(); }

  /// The complete messages so far: what was sent, in order, then what was received, in order. What follows a damaged
  /// header is left out.
  [[nodiscard]] std::vector<RecordedMessage> messages() const;

 private:
  void do_close() override { inner_.close(); }

  Channel& inner_;
  mutable std::mutex mutex_;
  Bytes sent_;
  Bytes received_;
};

}  // namespace blindfl::net
