#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/net/frame.h"
#include "blindfl/net/transport.h"

namespace blindfl::testing {

/// One message as it crossed the link.
struct RecordedMessage {
  net::Direction direction{};
  net::Message message;
  Bytes payload;
};

/// Keeps every byte that crosses another transport: for tests of what a party sees. Never for real runs: it remembers
/// payloads.
class RecordingTransport final : public net::Transport {
 public:
  explicit RecordingTransport(std::shared_ptr<net::Transport> inner) : inner_(std::move(inner)) {}

  void write(ByteView bytes) override {
    inner_->write(bytes);
    const std::lock_guard lock(mutex_);
    sent_.insert(sent_.end(), bytes.begin(), bytes.end());
  }
  void read(std::span<std::byte> out) override {
    inner_->read(out);
    const std::lock_guard lock(mutex_);
    received_.insert(received_.end(), out.begin(), out.end());
  }
  [[nodiscard]] bool has_arrived() const override { return inner_->has_arrived(); }
  [[nodiscard]] std::uint64_t send_capacity() const override { return inner_->send_capacity(); }
  void close() override { inner_->close(); }

  /// The complete messages so far: what was sent, in order, then what was received, in order. What follows a damaged
  /// header is left out. Steps are numbers alone.
  [[nodiscard]] std::vector<RecordedMessage> messages() const {
    const std::lock_guard lock(mutex_);
    std::vector<RecordedMessage> messages;
    split_frames(sent_, net::Direction::kSent, messages);
    split_frames(received_, net::Direction::kReceived, messages);
    return messages;
  }

 private:
  static void split_frames(ByteView stream, net::Direction direction, std::vector<RecordedMessage>& messages) {
    while (stream.size() >= net::kFrameHeaderBytes) {
      net::FrameHeader header;
      try {
        header = net::decode_header(stream.first<net::kFrameHeaderBytes>());
      } catch (const ProtocolError&) {
        return;  // a hostile peer's bytes: whoever received them has refused them
      }
      stream = stream.subspan(net::kFrameHeaderBytes);
      if (stream.size() < header.message.size || stream.size() - header.message.size < net::kFrameTrailerBytes) return;
      const ByteView payload = stream.first(header.message.size);
      messages.push_back({direction, header.message, Bytes(payload.begin(), payload.end())});
      stream = stream.subspan(payload.size() + net::kFrameTrailerBytes);
    }
  }

  std::shared_ptr<net::Transport> inner_;
  mutable std::mutex mutex_;
  Bytes sent_;
  Bytes received_;
};

}  // namespace blindfl::testing
