#include "testing/recording_transport.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/net/memory_channel.h"
#include "testing/steps.h"

namespace blindfl::net::recording_transport_test {
namespace {

using testing::RecordedMessage;
using testing::RecordingTransport;

Message message(Step step, std::uint32_t layer, std::string_view payload) {
  return {step, layer, payload.size()};
}

Bytes bytes_of(std::string_view text) {
  const ByteView view = as_bytes(text);
  return {view.begin(), view.end()};
}

struct Expected {
  Direction direction;
  Message message;
  Bytes payload;
};

/// A channel whose bytes are recorded.
struct Recorded {
  explicit Recorded(const Channel& inner)
      : transport(std::make_shared<RecordingTransport>(inner.transport())), channel(transport) {}
  std::shared_ptr<RecordingTransport> transport;
  Channel channel;
};

void expect_messages(const Recorded& recorded_at, const std::vector<Expected>& expected) {
  const std::vector<RecordedMessage> recorded = recorded_at.transport->messages();
  ASSERT_EQ(recorded.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(recorded[i].direction, expected[i].direction) << i;
    EXPECT_EQ(recorded[i].message, expected[i].message) << i;
    EXPECT_EQ(recorded[i].payload, expected[i].payload) << i;
  }
}

TEST(RecordingTransport, KeepsBothDirectionsInOrder) {
  const auto [a, b] = make_memory_channels();
  Recorded at_a(*a);
  const Message first = message(protocol::steps::kPublicKey, 0, "key of A");
  const Message answer = message(protocol::steps::kPublicKey, 0, "B's key");
  const Message empty = message(protocol::steps::kForwardOperand, 3, "");
  const Message last = message(protocol::steps::kForwardProduct, 3, "product");
  at_a.channel.send(first, as_bytes("key of A"));
  b->send(answer, as_bytes("B's key"));
  EXPECT_EQ(b->receive(first), bytes_of("key of A"));
  EXPECT_EQ(at_a.channel.receive(answer), bytes_of("B's key"));
  at_a.channel.send(empty, as_bytes(""));
  at_a.channel.send(last, as_bytes("product"));
  EXPECT_TRUE(b->receive(empty).empty());
  EXPECT_EQ(b->receive(last), bytes_of("product"));

  expect_messages(at_a, {{Direction::kSent, first, bytes_of("key of A")},
                         {Direction::kSent, empty, {}},
                         {Direction::kSent, last, bytes_of("product")},
                         {Direction::kReceived, answer, bytes_of("B's key")}});
}

TEST(RecordingTransport, SeesTheSameAtBothEnds) {
  const auto [a, b] = make_memory_channels();
  Recorded at_a(*a);
  Recorded at_b(*b);
  const Message m = message(protocol::steps::kOutputShare, 1, "share");
  at_a.channel.send(m, as_bytes("share"));
  EXPECT_TRUE(at_b.transport->messages().empty()) << "nothing was received yet";
  EXPECT_EQ(at_b.channel.receive(m), bytes_of("share"));
  expect_messages(at_a, {{Direction::kSent, m, bytes_of("share")}});
  expect_messages(at_b, {{Direction::kReceived, m, bytes_of("share")}});
}

TEST(RecordingTransport, PutsPiecesOfAMessageTogether) {
  const auto [a, b] = make_memory_channels();
  Recorded at_a(*a);
  Recorded at_b(*b);
  const Bytes payload(300000, std::byte{0x5A});
  const Message m = {protocol::steps::kForwardOperand, 0, payload.size()};
  at_a.channel.send(m, [&](ByteSink& out) {
    out.write(ByteView(payload).first(100));
    out.write(ByteView(payload).subspan(100));
  });
  at_b.channel.receive(m, [&](ByteSource& in) {
    for (std::size_t left = payload.size(); left > 0; left -= 1000) {
      Bytes piece(1000);
      in.read(piece);
    }
  });
  expect_messages(at_a, {{Direction::kSent, m, payload}});
  expect_messages(at_b, {{Direction::kReceived, m, payload}});
}

TEST(RecordingTransport, LeavesOutAnIncompleteTail) {
  const Message whole = message(protocol::steps::kPublicKey, 0, "whole");
  const Message cut = message(protocol::steps::kPublicKey, 1, "cut");
  const FrameHeaderBytes header = encode_header({cut, 1});
  Bytes frame(header.begin(), header.end());
  const Bytes rest = bytes_of("cut....");
  frame.insert(frame.end(), rest.begin(), rest.end());

  for (std::size_t length = 0; length <= frame.size(); ++length) {
    SCOPED_TRACE(length);
    const auto [a, b] = make_memory_channels();
    Recorded at_a(*a);
    Recorded at_b(*b);
    at_a.channel.send(whole, as_bytes("whole"));
    EXPECT_EQ(at_b.channel.receive(whole), bytes_of("whole"));
    at_a.transport->write(ByteView(frame).first(length));
    Bytes arrived(length);
    at_b.transport->read(arrived);

    std::vector<Expected> sent = {{Direction::kSent, whole, bytes_of("whole")}};
    if (length == frame.size()) sent.push_back({Direction::kSent, cut, bytes_of("cut")});
    expect_messages(at_a, sent);
    std::vector<Expected> received = sent;
    for (Expected& e : received) e.direction = Direction::kReceived;
    expect_messages(at_b, received);
  }
}

TEST(RecordingTransport, BehavesAsTheOneItWraps) {
  const auto [a, b] = make_memory_channels();
  Recorded at_a(*a);
  EXPECT_EQ(at_a.channel.send_capacity(), a->send_capacity());
  const Message m = message(protocol::steps::kOutputShare, 1, "share");
  at_a.channel.send(m, as_bytes("share"));
  EXPECT_EQ(at_a.channel.sent().at(protocol::steps::kOutputShare), (Traffic{1, 5}));
  EXPECT_EQ(b->receive(m), bytes_of("share"));
  at_a.channel.close();
  EXPECT_THROW((void)b->receive(m), TransportError);
  EXPECT_THROW(at_a.channel.send(m, as_bytes("share")), TransportError);
  expect_messages(at_a, {{Direction::kSent, m, bytes_of("share")}});
}

}  // namespace
}  // namespace blindfl::net::recording_transport_test
