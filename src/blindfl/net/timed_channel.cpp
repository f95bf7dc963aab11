#include "blindfl/net/timed_channel.h"

#include <chrono>

namespace blindfl::net {

namespace {

/// Adds the time until the end of its scope, also where that is an exception.
class Lap {
 public:
  explicit Lap(std::atomic<std::int64_t>& sum) : sum_(sum), begin_(Clock::now()) {}
  Lap(const Lap&) = delete;
  Lap& operator=(const Lap&) = delete;
  ~Lap() { sum_ += std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  std::atomic<std::int64_t>& sum_;
  Clock::time_point begin_;
};

}  // namespace

void TimedChannel::write_raw(ByteView bytes) {
  const Lap lap(sending_);
  inner_.write_raw(bytes);
}

void TimedChannel::read_raw(std::span<std::byte> out) {
  const Lap lap(waiting_);
  inner_.read_raw(out);
}

}  // namespace blindfl::net
