#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "blindfl/base/crc32c.h"
#include "blindfl/net/channel.h"

namespace blindfl::testing {

/// Changes one message: what it says it is, and what is in it. Its size becomes that of the payload.
struct Forgery {
  std::uint64_t number = 0;  ///< of the message, among those sent
  std::function<void(net::Message&, Bytes&)> change;
};

/// Wraps a channel and forges one of the messages that are sent over it, as a dishonest peer would: whole frames, with
/// checksums that are right.
class ForgingChannel final : public net::Channel {
 public:
  ForgingChannel(std::unique_ptr<net::Channel> inner, Forgery forgery)
      : inner_(std::move(inner)), forgery_(std::move(forgery)) {}

  void write_raw(ByteView bytes) override {
    pending_.insert(pending_.end(), bytes.begin(), bytes.end());
    while (send_frame()) {
    }
  }
  void read_raw(std::span<std::byte> out) override { inner_->read_raw(out); }
  [[nodiscard]] bool has_arrived() const override { return inner_->has_arrived(); }
  [[nodiscard]] std::uint64_t send_capacity() const override { return inner_->send_capacity(); }

 private:
  void do_close() override { inner_->close(); }

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
      inner_->write_raw(head);
      inner_->write_raw(payload);
      inner_->write_raw(std::as_bytes(std::span(&checksum, 1)));
    } else {
      inner_->write_raw(ByteView(pending_).first(bytes));
    }
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(bytes));
    return true;
  }

  std::unique_ptr<net::Channel> inner_;
  Forgery forgery_;
  Bytes pending_;
};

}  // namespace blindfl::testing
