#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/net/step.h"
#include "blindfl/net/transport.h"

namespace blindfl::lab::attacks {

/// Keeps what arrives over another transport in messages of one step: what a party sees beside what its layers do with
/// it. For experiments with both parties in one process; it remembers payloads.
class MessageTap final : public net::Transport {
 public:
  MessageTap(std::shared_ptr<net::Transport> inner, net::Step step) : inner_(std::move(inner)), step_(step) {}

  void write(ByteView bytes) override { inner_->write(bytes); }
  void read(std::span<std::byte> out) override;
  [[nodiscard]] bool has_arrived() const override { return inner_->has_arrived(); }
  [[nodiscard]] std::uint64_t send_capacity() const override { return inner_->send_capacity(); }
  void close() override { inner_->close(); }

  /// The payloads since the last call, in order.
  [[nodiscard]] std::vector<Bytes> take();

 private:
  void follow(ByteView bytes);
  void begin_message();

  std::shared_ptr<net::Transport> inner_;
  net::Step step_;
  std::mutex mutex_;
  Bytes header_;
  std::uint64_t left_ = 0;  ///< bytes of the message at hand that are still to come, its checksum included
  bool kept_ = false;
  Bytes payload_;
  std::vector<Bytes> payloads_;
};

}  // namespace blindfl::lab::attacks
