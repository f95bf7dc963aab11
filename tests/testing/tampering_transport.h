#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "blindfl/net/transport.h"

namespace blindfl::testing {

/// What goes wrong with the bytes that a party sends.
struct Tampering {
  /// Flip this bit of the stream, counted from its first byte.
  std::optional<std::uint64_t> flip_bit = std::nullopt;
  /// Let only this many bytes through, then close the link.
  std::optional<std::uint64_t> cut_after = std::nullopt;
};

/// Spoils what is sent over another transport.
class TamperingTransport final : public net::Transport {
 public:
  explicit TamperingTransport(std::shared_ptr<net::Transport> inner, const Tampering& tampering = {})
      : inner_(std::move(inner)), tampering_(tampering) {}

  void write(ByteView bytes) override {
    Bytes spoilt(bytes.begin(), bytes.end());
    if (tampering_.flip_bit && *tampering_.flip_bit / 8 >= sent_.size() &&
        *tampering_.flip_bit / 8 < sent_.size() + spoilt.size()) {
      spoilt[*tampering_.flip_bit / 8 - sent_.size()] ^= static_cast<std::byte>(1U << (*tampering_.flip_bit % 8));
    }
    if (tampering_.cut_after) {
      spoilt.resize(std::min<std::uint64_t>(
          spoilt.size(), *tampering_.cut_after - std::min<std::uint64_t>(sent_.size(), *tampering_.cut_after)));
    }
    sent_.insert(sent_.end(), bytes.begin(), bytes.end());
    if (!spoilt.empty()) inner_->write(spoilt);
    if (tampering_.cut_after && sent_.size() >= *tampering_.cut_after) inner_->close();
  }
  void read(std::span<std::byte> out) override { inner_->read(out); }
  [[nodiscard]] bool has_arrived() const override { return inner_->has_arrived(); }
  [[nodiscard]] std::uint64_t send_capacity() const override { return inner_->send_capacity(); }
  void close() override { inner_->close(); }

  /// What was sent, before it was spoilt.
  [[nodiscard]] const Bytes& sent_bytes() const { return sent_; }

 private:
  std::shared_ptr<net::Transport> inner_;
  Tampering tampering_;
  Bytes sent_;
};

}  // namespace blindfl::testing
