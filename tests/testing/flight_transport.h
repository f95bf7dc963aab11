#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "blindfl/net/transport.h"
#include "testing/links.h"

namespace blindfl::testing {

/// Counts flights: messages one after the other. Each byte is one flight later than the latest that its sender had
/// received; two messages that cross are one flight.
class FlightCounter {
 public:
  void sent(std::size_t end, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    under_way_[end].push_back({seen_[end] + 1, bytes});
    latest_ = std::max(latest_, seen_[end] + 1);
  }
  void received(std::size_t end, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    auto& from_peer = under_way_[1 - end];
    while (bytes > 0 && !from_peer.empty()) {
      auto& [flight, left] = from_peer.front();
      seen_[end] = std::max(seen_[end], flight);
      const std::size_t now = std::min(left, bytes);
      bytes -= now;
      left -= now;
      if (left == 0) from_peer.pop_front();
    }
  }
  /// Since the last call. Only while both parties are at rest.
  [[nodiscard]] int take() {
    const std::lock_guard lock(mutex_);
    seen_ = {0, 0};
    return std::exchange(latest_, 0);
  }

 private:
  struct Piece {
    int flight;
    std::size_t bytes;
  };
  std::mutex mutex_;
  std::array<int, 2> seen_{};
  std::array<std::deque<Piece>, 2> under_way_;
  int latest_ = 0;
};

/// One end of a link whose flights are counted.
class FlightTransport final : public net::Transport {
 public:
  FlightTransport(std::shared_ptr<net::Transport> inner, std::shared_ptr<FlightCounter> counter, std::size_t end)
      : inner_(std::move(inner)), counter_(std::move(counter)), end_(end) {}

  void write(ByteView bytes) override {
    counter_->sent(end_, bytes.size());
    inner_->write(bytes);
  }
  void read(std::span<std::byte> out) override {
    inner_->read(out);
    counter_->received(end_, out.size());
  }
  [[nodiscard]] bool has_arrived() const override { return inner_->has_arrived(); }
  [[nodiscard]] std::uint64_t send_capacity() const override { return inner_->send_capacity(); }
  void close() override { inner_->close(); }

 private:
  std::shared_ptr<net::Transport> inner_;
  std::shared_ptr<FlightCounter> counter_;
  std::size_t end_;
};

/// Channels as `make_channels()` makes them, with their flights counted.
inline Channels counted_channels(const std::shared_ptr<FlightCounter>& counter) {
  const Channels plain = make_channels();
  const auto counted = [&](const net::Channel& channel, std::size_t end) {
    return std::make_unique<net::Channel>(std::make_shared<FlightTransport>(channel.transport(), counter, end));
  };
  return {counted(*plain.first, 0), counted(*plain.second, 1)};
}

}  // namespace blindfl::testing
