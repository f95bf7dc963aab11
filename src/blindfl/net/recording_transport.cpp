#include "blindfl/net/recording_transport.h"

#include "blindfl/base/error.h"

namespace blindfl::net {

namespace {

void split_frames(ByteView stream, Direction direction, std::vector<RecordedMessage>& messages) {
  while (stream.size() >= kFrameHeaderBytes) {
    FrameHeader header;
    try {
      header = decode_header(stream.first<kFrameHeaderBytes>());
    } catch (const ProtocolError&) {
      return;  // a hostile peer's bytes: whoever received them has refused them
    }
    stream = stream.subspan(kFrameHeaderBytes);
    if (stream.size() < header.message.size || stream.size() - header.message.size < kFrameTrailerBytes) return;
    const ByteView payload = stream.first(header.message.size);
    messages.push_back({direction, header.message, Bytes(payload.begin(), payload.end())});
    stream = stream.subspan(payload.size() + kFrameTrailerBytes);
  }
}

}  // namespace

void RecordingTransport::write(ByteView bytes) {
  inner_->write(bytes);
  const std::lock_guard lock(mutex_);
  sent_.insert(sent_.end(), bytes.begin(), bytes.end());
}

void RecordingTransport::read(std::span<std::byte> out) {
  inner_->read(out);
  const std::lock_guard lock(mutex_);
  received_.insert(received_.end(), out.begin(), out.end());
}

std::vector<RecordedMessage> RecordingTransport::messages() const {
  const std::lock_guard lock(mutex_);
  std::vector<RecordedMessage> messages;
  split_frames(sent_, Direction::kSent, messages);
  split_frames(received_, Direction::kReceived, messages);
  return messages;
}

}  // namespace blindfl::net
