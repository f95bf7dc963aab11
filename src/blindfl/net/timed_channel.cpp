#include "blindfl/net/timed_channel.h"

namespace blindfl::net {

void TimedChannel::write_raw(ByteView bytes) {
  const Stopwatch::Lap lap(sending_);
  inner_.write_raw(bytes);
}

void TimedChannel::read_raw(std::span<std::byte> out) {
  const Stopwatch::Lap lap(waiting_);
  inner_.read_raw(out);
}

}  // namespace blindfl::net
