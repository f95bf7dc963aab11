#include "blindfl/net/channel.h"

#include <algorithm>
#include <array>

#include "blindfl/base/crc32c.h"
#include "blindfl/base/error.h"
#include "blindfl/base/secret.h"
#include "blindfl/net/message_log.h"

namespace blindfl::net {

namespace {

// Gathers header, payload and checksum into few pieces, and checks that the message keeps its promised size.
class FrameSink final : public ByteSink {
 public:
  static constexpr std::size_t kPiece = std::size_t{1} << 16;

  FrameSink(Transport& transport, const Message& message, const FrameHeaderBytes& header)
      : transport_(transport), message_(message), left_(message.size), checksum_(header_checksum(header)) {
    piece_.reserve(std::min<std::uint64_t>(kPiece, message.size + header.size() + sizeof(checksum_)));
    gather(header);
  }

  void write(ByteView bytes) override {
    require<InvalidArgument>(bytes.size() <= left_, "a ", name_of(message_.step), " message is longer than the ",
                             message_.size, " bytes promised");
    left_ -= bytes.size();
    checksum_ = crc32c(bytes, checksum_);
    gather(bytes);
  }

  void finish() {
    require<InvalidArgument>(left_ == 0, "a ", name_of(message_.step), " message is shorter than the ", message_.size,
                             " bytes promised");
    gather(std::as_bytes(std::span(&checksum_, 1)));
    flush();
  }

  [[nodiscard]] std::uint32_t checksum() const { return checksum_; }

 private:
  // What is large goes to the link at once, behind what was gathered before it.
  void gather(ByteView bytes) {
    const bool large = bytes.size() > kPiece;
    if (piece_.size() + bytes.size() > kPiece) {
      const ByteView first = bytes.first(kPiece - piece_.size());
      piece_.insert(piece_.end(), first.begin(), first.end());
      flush();
      bytes = bytes.subspan(first.size());
    }
    if (large) {
      transport_.write(bytes);
    } else {
      piece_.insert(piece_.end(), bytes.begin(), bytes.end());
    }
  }

  void flush() {
    if (!piece_.empty()) transport_.write(piece_);
    piece_.clear();
  }

  Transport& transport_;
  const Message& message_;
  std::uint64_t left_;
  std::uint32_t checksum_;
  SecretVector<std::byte> piece_;  // shares pass through it
};

using IdleWork = std::function<bool()>;

void read_idly(Transport& transport, const IdleWork& idle, std::span<std::byte> out) {
  while (idle && !transport.has_arrived() && idle()) {
  }
  transport.read(out);
}

class FrameSource final : public ByteSource {
 public:
  FrameSource(Transport& transport, const IdleWork& idle, const Message& message, std::uint32_t checksum)
      : transport_(transport), idle_(idle), message_(message), left_(message.size), checksum_(checksum) {}

  void read(std::span<std::byte> out) override {
    require<ProtocolError>(out.size() <= left_, "a ", name_of(message_.step), " message ends too early");
    read_idly(transport_, idle_, out);
    left_ -= out.size();
    checksum_ = crc32c(out, checksum_);
  }
  [[nodiscard]] std::uint64_t remaining() const override { return left_; }

  void finish() {
    require<ProtocolError>(left_ == 0, "a ", name_of(message_.step), " message has ", left_, " bytes too many");
    std::uint32_t arrived = 0;
    read_idly(transport_, idle_, std::as_writable_bytes(std::span(&arrived, 1)));
    require<ProtocolError>(arrived == checksum_, "a ", name_of(message_.step), " message was damaged on the way");
  }

  [[nodiscard]] std::uint32_t checksum() const { return checksum_; }

 private:
  Transport& transport_;
  const IdleWork& idle_;
  const Message& message_;
  std::uint64_t left_;
  std::uint32_t checksum_;
};

void count(Traffic& traffic, std::uint64_t bytes) {
  ++traffic.messages;
  traffic.bytes += bytes;
}

}  // namespace

Channel::Channel(std::shared_ptr<Transport> transport) : transport_(std::move(transport)) {
  require<InvalidArgument>(transport_ != nullptr, "a channel needs a transport");
}
Channel::~Channel() = default;

void Channel::write_ledger(std::unique_ptr<MessageLog> ledger) {
  require<InvalidArgument>(next_sent_ == 0 && next_received_ == 0 && !ledger_,
                           "a channel takes one ledger, before its first message: a later one would miss some");
  ledger_ = std::move(ledger);
}

void Channel::close_ledger() {
  close();
  if (ledger_) ledger_->close();
}

void Channel::record(Direction direction, const Message& message, std::uint32_t checksum) {
  count((direction == Direction::kSent ? sent_ : received_)[message.step], message.size);
  if (ledger_) ledger_->write(direction, message, checksum);
}

void Channel::close() {
  closed_ = true;
  transport_->close();
}

// What a peer sent after, or inside, a message that was refused must never be taken for the next one.
void Channel::check_open() const {
  require<TransportError>(!closed_, "the channel to the peer is closed on this side, or was after an error");
}

void Channel::send(const Message& message, const std::function<void(ByteSink&)>& body) {
  check_open();
  (void)describe(message.step);  // only steps that say what they reveal can be sent
  try {
    send_frame(message, body);
  } catch (...) {
    close();
    throw;
  }
}

void Channel::send_frame(const Message& message, const std::function<void(ByteSink&)>& body) {
  FrameSink sink(*transport_, message, encode_header({message, next_sent_++}));
  body(sink);
  sink.finish();
  record(Direction::kSent, message, sink.checksum());
}

void Channel::send(const Message& message, ByteView payload) {
  send(message, [&](ByteSink& out) { out.write(payload); });
}

void Channel::receive(const Message& expected, const std::function<void(ByteSource&)>& body) {
  check_open();
  try {
    receive_frame(expected, body);
  } catch (...) {
    close();
    throw;
  }
}

FrameHeaderBytes Channel::receive_header(const Message& expected) {
  FrameHeaderBytes bytes;
  read_idly(*transport_, idle_, bytes);
  const FrameHeader header = decode_header(bytes);
  const Message& arrived = header.message;
  require<ProtocolError>(header.sequence == next_received_, "message number ", header.sequence, " arrived in place of ",
                         next_received_);
  require<ProtocolError>(arrived.step == expected.step && arrived.layer == expected.layer, "expected a ",
                         name_of(expected.step), " message of layer ", expected.layer, ", but a ",
                         name_of(known_.known(arrived.step)), " message of layer ", arrived.layer,
                         " arrived; do both parties run the same command, of the same release?");
  require<ProtocolError>(arrived.size == expected.size, "a ", name_of(expected.step), " message of layer ",
                         expected.layer, " has ", arrived.size, " bytes, expected ", expected.size);
  return bytes;
}

void Channel::receive_frame(const Message& expected, const std::function<void(ByteSource&)>& body) {
  const FrameHeaderBytes bytes = receive_header(expected);
  ++next_received_;
  FrameSource source(*transport_, idle_, expected, header_checksum(bytes));
  body(source);
  source.finish();
  record(Direction::kReceived, expected, source.checksum());
}

Bytes Channel::receive(const Message& expected) {
  Bytes payload;
  receive(expected, [&](ByteSource& in) {
    payload.resize(expected.size);
    in.read(payload);
  });
  return payload;
}

Traffic total(const std::map<Step, Traffic>& traffic) {
  Traffic sum;
  for (const auto& [step, of_step] : traffic) sum = sum + of_step;
  return sum;
}

}  // namespace blindfl::net
