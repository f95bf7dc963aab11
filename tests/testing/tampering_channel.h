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
  /// `inner` must outlive this.
  explicit TamperingChannel(net::Channel& inner, const Tampering& tampering = {})
      : inner_(inner), tampering_(tampering) {}
  TamperingChannel(std::unique_ptr<net::Channel> inner, const Tampering& tampering)
      : owned_(std::move(inner)), inner_(*owned_), tampering_(tampering) {}

  void write_raw(ByteView bytes) override {
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
    if (!spoilt.empty()) inner_.write_raw(spoilt);
    if (tampering_.cut_after && sent_.size() >= *tampering_.cut_after) inner_.close();
  }
  void read_raw(std::span<std::byte> out) override { inner_.read_raw(out); }
  [[nodiscard]] bool has_arrived() const override { return inner_.has_arrived(); }
  [[nodiscard]] std::uint64_t send_capacity() const override { return inner_.send_capacity(); }

  /// What was sent, before it was spoilt.
  [[nodiscard]] const Bytes& sent_bytes() const { return sent_; }

 private:
  void do_close() override { inner_.close(); }

  std::unique_ptr<net::Channel> owned_;
  net::Channel& inner_;
  Tampering tampering_;
  Bytes sent_;
};

}  // namespace blindfl::testing
