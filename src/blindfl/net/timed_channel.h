#pragma once

#include "blindfl/base/stopwatch.h"
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
  [[nodiscard]] double seconds_waiting() const { return waiting_.seconds(); }
  [[nodiscard]] double seconds_sending() const { return sending_.seconds(); }

 private:
  void do_close() override { inner_.close(); }

  Channel& inner_;
  Stopwatch waiting_;
  Stopwatch sending_;
};

}  // namespace blindfl::net
