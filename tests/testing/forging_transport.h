#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "blindfl/base/crc32c.h"
#include "blindfl/net/frame.h"
#include "blindfl/net/transport.h"

namespace blindfl::testing {

/// Changes one message: what it says it is, and what is in it. Its size becomes that of the payload.
struct Forgery {
  std::uint64_t number = 0;  ///< of the message, among those sent
  std::function<void(net::Message&, Bytes&)> change;
};

/// Forges one of the messages that are sent over another transport, as a dishonest peer would: whole frames, with
/// checksums that are right.
class ForgingTransport final : public net::Transport {
 public:
  ForgingTransport(std::shared_ptr<net::Transport> inner, Forgery forgery)
      : inner_(std::move(inner)), forgery_(std::move(forgery)) {}

  void write(ByteView bytes) override {
    pending_.insert(pending_.end(), bytes.begin(), bytes.end());
    while (send_frame()) {
    }
  }
  void read(std::span<std::byte> out) override { inner_->read(out); }
  [[nodiscard]] bool has_arrived() const override { return inner_->has_arrived(); }
  [[nodiscard]] std::uint64_t send_capacity() const override { return inner_->send_capacity(); }
  void close() override { inner_->close(); }

 private:
  /// Passes on the first of the frames that wait, if all of it is there.
  bool send_frame() {
    if (pending_.size() < net::kFrameHeaderBytes) return false;
    net::FrameHeader header = net::decode_header(ByteView(pending_).first<net::kFrameHeaderBytes>());
    const std::size_t bytes = net::kFrameHeaderBytes + header.message.size + net::kFrameTrailerBytes;
    if (pending_.size() < bytes) return false;
    if (header.sequence == forgery_.number && forgery_.change) {
      const ByteView sent = ByteView(pending_).subspan(net::kFrameHeaderBytes, header.message.size);
      Bytes payload(sent.begin(), sent.end());
      forgery_.change(header.message, payload);
      header.message.size = payload.size();
      const net::FrameHeaderBytes head = net::encode_header(header);
      const std::uint32_t checksum = crc32c(payload, net::header_checksum(head));
      inner_->write(head);
      inner_->write(payload);
      inner_->write(std::as_bytes(std::span(&checksum, 1)));
    } else {
      inner_->write(ByteView(pending_).first(bytes));
    }
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(bytes));
    return true;
  }

  std::shared_ptr<net::Transport> inner_;
  Forgery forgery_;
  Bytes pending_;
};

}  // namespace blindfl::testing
