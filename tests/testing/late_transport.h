#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/net/channel.h"

namespace blindfl::testing {

/// Bytes on their way to one party: each arrives a given time after it was written.
class LateLine {
 public:
  using Clock = std::chrono::steady_clock;
  explicit LateLine(Clock::duration delay) : delay_(delay) {}

  void write(ByteView bytes) {
    const std::lock_guard lock(mutex_);
    require<TransportError>(!closed_, "the link is closed");
    pieces_.push_back({Clock::now() + delay_, {bytes.begin(), bytes.end()}});
    wake_.notify_all();
  }
  void read(std::span<std::byte> out) {
    std::unique_lock lock(mutex_);
    while (!out.empty()) {
      wake_.wait(lock, [&] { return closed_ || !pieces_.empty(); });
      require<TransportError>(!pieces_.empty(), "the link is closed");
      if (const auto arrives = pieces_.front().arrives; arrives > Clock::now()) {
        wake_.wait_until(lock, arrives);
        continue;
      }
      Bytes& bytes = pieces_.front().bytes;
      const std::size_t count = std::min(out.size(), bytes.size() - used_);
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(used_), count, out.begin());
      out = out.subspan(count);
      used_ += count;
      if (used_ < bytes.size()) continue;
      pieces_.pop_front();
      used_ = 0;
    }
  }
  [[nodiscard]] bool has_arrived() const {
    const std::lock_guard lock(mutex_);
    return closed_ || (!pieces_.empty() && pieces_.front().arrives <= Clock::now());
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    wake_.notify_all();
  }

 private:
  struct Piece {
    Clock::time_point arrives;
    Bytes bytes;
  };
  Clock::duration delay_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Piece> pieces_;
  std::size_t used_ = 0;  ///< of the first piece
  bool closed_ = false;
};

/// One end of a link in memory that is as slow as a long line: where parties wait, and computing is next to nothing,
/// time is that of messages one after the other.
class LateTransport final : public net::Transport {
 public:
  LateTransport(std::shared_ptr<LateLine> to_peer, std::shared_ptr<LateLine> to_me)
      : to_peer_(std::move(to_peer)), to_me_(std::move(to_me)) {}

  void write(ByteView bytes) override { to_peer_->write(bytes); }
  void read(std::span<std::byte> out) override { to_me_->read(out); }
  [[nodiscard]] bool has_arrived() const override { return to_me_->has_arrived(); }
  [[nodiscard]] std::uint64_t send_capacity() const override { return std::uint64_t{1} << 30; }
  void close() override {
    to_peer_->close();
    to_me_->close();
  }

 private:
  std::shared_ptr<LateLine> to_peer_;
  std::shared_ptr<LateLine> to_me_;
};

/// A's end and B's.
inline std::pair<std::unique_ptr<net::Channel>, std::unique_ptr<net::Channel>> late_channels(
    LateLine::Clock::duration delay) {
  const auto to_a = std::make_shared<LateLine>(delay);
  const auto to_b = std::make_shared<LateLine>(delay);
  return {std::make_unique<net::Channel>(std::make_shared<LateTransport>(to_b, to_a)),
          std::make_unique<net::Channel>(std::make_shared<LateTransport>(to_a, to_b))};
}

}  // namespace blindfl::testing
