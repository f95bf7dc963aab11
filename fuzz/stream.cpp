// All that a peer wrote to a channel, received as a list of messages.
//
// Input: switches (1: put in each frame's magic, 2: its number, 4: its checksums, as a peer would that speaks our
// format; 8: keep every byte, 16: read bodies in pieces), a byte that says how the stream is cut on its way, the
// stream. Then the peer closes.

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "blindfl/base/crc32c.h"
#include "blindfl/base/error.h"
#include "blindfl/net/memory_channel.h"
#include "blindfl/protocol/layers/steps.h"
#include "blindfl/protocol/session/steps.h"
#include "input.h"
#include "testing/recording_transport.h"

namespace {

using namespace blindfl;
using net::Message;

constexpr std::array kExpected = {
    Message{protocol::steps::kAgreement, 0, 32},     Message{protocol::steps::kPublicKey, 0, 48},
    Message{protocol::steps::kForwardOperand, 1, 7}, Message{protocol::steps::kOutputShare, 1, 0},
    Message{protocol::steps::kOutputShare, 1, 16},   Message{protocol::steps::kGradientProduct, 70000, 300}};

constexpr unsigned kMagic = 1;
constexpr unsigned kNumbers = 2;
constexpr unsigned kChecksums = 4;
constexpr unsigned kRecorded = 8;
constexpr unsigned kInPieces = 16;

template <class T>
void put(std::span<std::byte> bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// Makes frames of the stream, as far as their sizes go.
void repair(std::span<std::byte> stream, unsigned switches) {
  for (std::uint64_t number = 0; stream.size() >= net::kFrameHeaderBytes; ++number) {
    const auto header = stream.first<net::kFrameHeaderBytes>();
    if ((switches & kMagic) != 0) std::ranges::copy(as_bytes("BFL1"), header.begin());
    if ((switches & kNumbers) != 0) put(header, 12, number);
    const std::uint32_t checksum = net::header_checksum(header);
    if ((switches & kChecksums) != 0) put(header, 28, checksum);
    std::uint64_t size = 0;
    std::memcpy(&size, header.data() + 20, sizeof size);
    stream = stream.subspan(header.size());
    if (stream.size() < net::kFrameTrailerBytes || size > stream.size() - net::kFrameTrailerBytes) return;
    if ((switches & kChecksums) != 0) put(stream, size, crc32c(stream.first(size), checksum));
    stream = stream.subspan(size + net::kFrameTrailerBytes);
  }
}

/// The only bytes that may arrive as this message: see net/frame.h.
Bytes frame_of(const Message& message, std::uint64_t number, const Bytes& payload) {
  const net::FrameHeaderBytes header = net::encode_header({message, number});
  return write_to_bytes([&](ByteSink& out) {
    out.write(header);
    out.write(payload);
    out.write_u32(crc32c(payload, net::header_checksum(header)));
  });
}

Bytes receive(net::Channel& channel, const Message& expected, bool in_pieces) {
  if (!in_pieces) return channel.receive(expected);
  Bytes payload;
  channel.receive(expected, [&](ByteSource& in) {
    fuzz::check(in.remaining() == expected.size, "a body sees the size that was asked for");
    while (in.remaining() > 0) payload.push_back(static_cast<std::byte>(in.read_u8()));
  });
  return payload;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const unsigned switches = input.take_byte();
  const std::size_t piece = std::size_t{input.take_byte()} + 1;
  Bytes stream(input.rest().begin(), input.rest().end());
  repair(stream, switches);

  const auto [peer, direct] = net::make_memory_channels();
  for (ByteView left = stream; !left.empty(); left = left.subspan(std::min(piece, left.size()))) {
    peer->transport()->write(left.first(std::min(piece, left.size())));
  }
  peer->close();
  const auto recording = std::make_shared<testing::RecordingTransport>(direct->transport());
  net::Channel recorded(recording);
  net::Channel& channel = (switches & kRecorded) != 0 ? recorded : *direct;

  std::size_t at = 0;
  std::size_t received = 0;
  bool refused = false;
  try {
    for (const Message& expected : kExpected) {
      const Bytes payload = receive(channel, expected, (switches & kInPieces) != 0);
      const Bytes frame = frame_of(expected, received, payload);
      const ByteView sent = ByteView(stream).subspan(std::min(at, stream.size()));
      fuzz::check(std::ranges::equal(frame, sent.first(std::min(frame.size(), sent.size()))), "what arrives was sent");
      at += frame.size();
      ++received;
    }
  } catch (const ProtocolError&) {
    refused = true;
  } catch (const TransportError&) {
    refused = true;
  }
  fuzz::check(net::total(channel.received()).messages == received, "only what arrived whole is counted");
  if ((switches & kRecorded) != 0) {
    fuzz::check(recording->messages().size() >= received, "the record holds what arrived");
  }
  if (refused) {
    try {
      (void)channel.receive(kExpected.front());
      fuzz::check(false, "a channel that refused a message is closed");
    } catch (const TransportError&) {
    }
  }
  return 0;
}
