#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "blindfl/net/frame.h"
#include "blindfl/net/transport.h"

namespace blindfl::net {

/// One message as it crossed the link.
struct RecordedMessage {
  Direction direction{};
  Message message;
  Bytes payload;
};

/// Keeps every byte that crosses another transport: for tests of what a party sees. Never for real runs: it remembers
/// payloads.
class RecordingTransport final : public Transport {
 public:
  explicit RecordingTransport(std::shared_ptr<Transport> inner) : inner_(std::move(inner)) {}

  void write(ByteView bytes) override;
  void read(std::span<std::byte> out) override;
  [[nodiscard]] bool has_arrived() const override { return inner_->has_arrived(); }
  [[nodiscard]] std::uint64_t send_capacity() const override { return inner_->send_capacity(); }
  void close() override { inner_->close(); }

  /// The complete messages so far: what was sent, in order, then what was received, in order. What follows a damaged
  /// header is left out. Steps are numbers alone.
  [[nodiscard]] std::vector<RecordedMessage> messages() const;

 private:
  std::shared_ptr<Transport> inner_;
  mutable std::mutex mutex_;
  Bytes sent_;
  Bytes received_;
};

}  // namespace blindfl::net
