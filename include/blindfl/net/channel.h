#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "blindfl/base/bytes.h"
#include "blindfl/net/frame.h"
#include "blindfl/net/transport.h"

namespace blindfl::net {

class MessageLog;

/// Messages and payload bytes that went one way.
struct Traffic {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;

  bool operator==(const Traffic&) const = default;
  friend Traffic operator+(const Traffic& a, const Traffic& b) { return {a.messages + b.messages, a.bytes + b.bytes}; }
};

/// Typed messages to one peer and from it, in order, over a link that carries bytes.
///
/// Contract: both sides name the step, the layer and the size of the next message before it travels; anything else that
/// arrives is an error. One thread may send while another receives. `send` may wait for the peer once more than
/// `send_capacity()` bytes are under way: to send and receive large messages at the same time, use two threads. After
/// an error the channel is closed, so that the peer learns of it too.
class Channel final {
 public:
  /// Nothing else may read from `transport` or write to it. Throws InvalidArgument if there is none.
  explicit Channel(std::shared_ptr<Transport> transport);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  /// Closes the ledger, if there is one and `close_ledger` has not; a failure then shows only in the file. The link
  /// ends with its transport.
  ~Channel();

  /// Sends what `body` writes, which must be `message.size` bytes. Pieces travel while `body` still works.
  /// Throws TransportError if the link is closed, InvalidArgument if `body` writes another number of bytes or the step
  /// is a number alone: only steps that say what they reveal can be sent.
  void send(const Message& message, const std::function<void(ByteSink&)>& body);
  void send(const Message& message, ByteView payload);

  /// Takes the next message, which must be `expected`, and lets `body` read it; `body` must read all of it. What `body`
  /// read is known to be intact only when this returns.
  /// Throws ProtocolError if another message arrives or it was damaged, TransportError if the link is closed.
  void receive(const Message& expected, const std::function<void(ByteSource&)>& body);
  [[nodiscard]] Bytes receive(const Message& expected);

  /// Work for the time that `receive` waits: called again and again, on the receiving thread, while nothing arrives and
  /// as long as it returns true. It should take little time each time, and throw nothing.
  void when_idle(std::function<bool()> work) { idle_ = std::move(work); }

  /// Traffic per step so far. Read the one from the sending thread, the other from the receiving one.
  [[nodiscard]] const std::map<Step, Traffic>& sent() const { return sent_; }
  [[nodiscard]] const std::map<Step, Traffic>& received() const { return received_; }

  /// Steps that may arrive out of place, so that errors can name them.
  void name_steps(StepTable steps) { known_ = std::move(steps); }

  /// Tells `ledger` of every message that counts in `sent()` and `received()`. A ledger that cannot be written is an
  /// error of the `send` or `receive` at hand, DataError: what is not recorded must not leave.
  /// Throws InvalidArgument unless it comes before the first message.
  void write_ledger(std::unique_ptr<MessageLog> ledger);
  /// Ends the link and the ledger, if there is one: call it after the last message, when no other thread is at work
  /// here, to learn whether the ledger is safe on disk. Throws DataError, naming the file, if it is not.
  void close_ledger();

  /// Ends the link and wakes whoever waits in it: this side's later calls throw TransportError, also for what has
  /// already arrived, and so do the peer's once it has received what was sent before. Any thread; harmless the second
  /// time.
  void close();
  /// Bytes that `send` takes without waiting for the peer to receive.
  [[nodiscard]] std::uint64_t send_capacity() const { return transport_->send_capacity(); }

  /// The bytes below the messages.
  [[nodiscard]] const std::shared_ptr<Transport>& transport() const { return transport_; }

 private:
  void check_open() const;
  [[nodiscard]] FrameHeaderBytes receive_header(const Message& expected);
  void send_frame(const Message& message, const std::function<void(ByteSink&)>& body);
  void receive_frame(const Message& expected, const std::function<void(ByteSource&)>& body);
  void record(Direction direction, const Message& message, std::uint32_t checksum);

  std::shared_ptr<Transport> transport_;
  std::atomic<bool> closed_ = false;
  std::function<bool()> idle_;
  std::uint64_t next_sent_ = 0;
  std::uint64_t next_received_ = 0;
  std::map<Step, Traffic> sent_;
  std::map<Step, Traffic> received_;
  StepTable known_;
  std::unique_ptr<MessageLog> ledger_;
};

/// Sum over all steps.
[[nodiscard]] Traffic total(const std::map<Step, Traffic>& traffic);

}  // namespace blindfl::net
