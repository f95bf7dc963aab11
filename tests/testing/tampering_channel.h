#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "blindfl/net/channel.h"

namespace blindfl::testing {

/// What goes wrong with the bytes that a party sends.
struct Tampering {
  /// Flip this bit of the stream, counted from its first byte.
  std::optional<std::uint64_t> flip_bit = std::nullopt;
  /// Let only this many bytes through, then close the link.
  std::optional<std::uint64_t> cut_after = std::nullopt;
};

/// Wraps a channel and spoils what is sent over it.
class TamperingChannel final : public net::Channel {
 public:
  TamperingChannel(std::unique_ptr<net::Channel> inner, const Tampering& tampering)
      : inner_(std::move(inner)), tampering_(tampering) {}

  void write_raw(ByteView bytes) override {
    Bytes spoilt(bytes.begin(), bytes.end());
    if (tampering_.flip_bit && *tampering_.flip_bit / 8 >= sent_ && *tampering_.flip_bit / 8 < sent_ + spoilt.size()) {
      spoilt[*tampering_.flip_bit / 8 - sent_] ^= static_cast<std::byte>(1U << (*tampering_.flip_bit % 8));
    }
    if (tampering_.cut_after) {
      spoilt.resize(
          std::min<std::uint64_t>(spoilt.size(), *tampering_.cut_after - std::min(sent_, *tampering_.cut_after)));
    }
    sent_ += bytes.size();
    if (!spoilt.empty()) inner_->write_raw(spoilt);
    if (tampering_.cut_after && sent_ >= *tampering_.cut_after) inner_->close();
  }
  void read_raw(std::span<std::byte> out) override { inner_->read_raw(out); }
  void close() override { inner_->close(); }
  [[nodiscard]] std::uint64_t send_capacity() const override { return inner_->send_capacity(); }

  [[nodiscard]] std::uint64_t sent_bytes() const { return sent_; }

 private:
  std::unique_ptr<net::Channel> inner_;
  Tampering tampering_;
  std::uint64_t sent_ = 0;
};

}  // namespace blindfl::testing
