#pragma once

#include <atomic>
#include <cstdint>

#include "blindfl/net/channel.h"

namespace blindfl::net {

/// Wraps a channel and measures how long this party waits in it: for bytes to arrive, and for the link to take what is
/// sent. Idle work is not waiting.
class TimedChannel final : public Channel {
 public:
  /// `inner` must outlive this.
  explicit TimedChannel(Channel& inner) : inner_(inner) {}

  void write_raw(ByteView bytes) override;
  void read_raw(std::span<std::byte> out) override;
  [[nodiscard]] bool has_arrived() const override { return inner_.has_arrived(); }
  [[nodiscard]] std::uint64_t send_capacity() const override { return inner_.send_capacity(); }

  /// Seconds so far, of all threads together.
  [[nodiscard]] double seconds_waiting() const { return static_cast<double>(waiting_) * 1e-9; }
  [[nodiscard]] double seconds_sending() const { return static_cast<double>(sending_) * 1e-9; }

 private:
  void do_close() override { inner_.close(); }

  Channel& inner_;
  std::atomic<std::int64_t> waiting_ = 0;  ///< nanoseconds
  std::atomic<std::int64_t> sending_ = 0;
};

}  // namespace blindfl::net
