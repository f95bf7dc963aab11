#pragma once

#include <memory>
#include <utility>

#include "blindfl/base/stopwatch.h"
#include "blindfl/net/transport.h"

namespace blindfl::net {

/// Measures how long this party waits in another transport: for bytes to arrive, and for the link to take what is sent.
/// A channel's idle work is not waiting.
class TimedTransport final : public Transport {
 public:
  explicit TimedTransport(std::shared_ptr<Transport> inner) : inner_(std::move(inner)) {}

  void write(ByteView bytes) override {
    const Stopwatch::Lap lap(sending_);
    inner_->write(bytes);
  }
  void read(std::span<std::byte> out) override {
    const Stopwatch::Lap lap(waiting_);
    inner_->read(out);
  }
  [[nodiscard]] bool has_arrived() const override { return inner_->has_arrived(); }
  [[nodiscard]] std::uint64_t send_capacity() const override { return inner_->send_capacity(); }
  void close() override { inner_->close(); }

  /// Seconds so far, of all threads together.
  [[nodiscard]] double seconds_waiting() const { return waiting_.seconds(); }
  [[nodiscard]] double seconds_sending() const { return sending_.seconds(); }

 private:
  std::shared_ptr<Transport> inner_;
  Stopwatch waiting_;
  Stopwatch sending_;
};

}  // namespace blindfl::net
