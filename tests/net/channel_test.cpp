#include "blindfl/net/channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "blindfl/base/crc32c.h"
#include "blindfl/base/error.h"
#include "blindfl/base/random.h"
#include "blindfl/net/memory_channel.h"
#include "testing/steps.h"
#include "testing/tampering_transport.h"
#include "testing/thrown.h"

namespace blindfl::net::channel_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Long enough that only a real hang reaches it.
constexpr auto kPatience = std::chrono::seconds(60);

constexpr Message kShort = {.step = protocol::steps::kForwardOperand, .layer = 2, .size = 8};
constexpr std::string_view kShortText = "8 bytes!";

Bytes bytes_of(std::string_view text) {
  const ByteView view = as_bytes(text);
  return {view.begin(), view.end()};
}

Bytes random_bytes(std::size_t count, std::uint64_t seed) {
  SeededRandom random(seed);
  Bytes bytes(count);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random.next_u64());
  return bytes;
}

using testing::message_of;
using testing::Tampering;
using testing::TamperingTransport;

// The bytes of the given messages as one sender puts them on the wire.
Bytes frames_of(const std::vector<Message>& messages) {
  const auto [a, b] = make_memory_channels();
  const auto listening = std::make_shared<TamperingTransport>(a->transport());
  Channel sender(listening);
  for (const Message& m : messages) sender.send(m, Bytes(m.size, std::byte{0x5A}));
  return listening->sent_bytes();
}

class ChannelPair : public ::testing::Test {
 protected:
  ChannelPair() { std::tie(a_, b_) = make_memory_channels(); }

  void expect_closed() {
    for (Channel* end : {a_.get(), b_.get()}) {
      // First what cannot wait: a receiver of a link that is still open would.
      bool closed = false;
      try {
        end->send(kShort, as_bytes(kShortText));
      } catch (const TransportError&) {
        closed = true;
      }
      ASSERT_TRUE(closed) << (end == a_.get() ? "A" : "B") << " can still send";
      EXPECT_THROW((void)end->receive(kShort), TransportError);
    }
  }

  std::unique_ptr<Channel> a_;
  std::unique_ptr<Channel> b_;
};

class MemoryChannel : public ChannelPair {};
class DamagedChannel : public ChannelPair {};

TEST_F(ChannelPair, CarriesMessagesInOrder) {
  for (std::uint32_t i = 0; i < 50; ++i) {
    a_->send({protocol::steps::kForwardOperand, i, i}, Bytes(i, static_cast<std::byte>(i)));
    b_->send({protocol::steps::kForwardProduct, i, 4}, [&](ByteSink& out) { out.write_u32(1000 + i); });
  }
  for (std::uint32_t i = 0; i < 50; ++i) {
    EXPECT_EQ(b_->receive({protocol::steps::kForwardOperand, i, i}), Bytes(i, static_cast<std::byte>(i)));
    a_->receive({protocol::steps::kForwardProduct, i, 4}, [&](ByteSource& in) { EXPECT_EQ(in.read_u32(), 1000 + i); });
  }
}

TEST_F(ChannelPair, DoesIdleWorkWhileNothingArrivesAndOnlyThen) {
  std::atomic<int> pieces = 0;
  b_->when_idle([&] {
    // The message comes while this side waits, after three pieces of work.
    if (++pieces == 3) a_->send(kShort, as_bytes(kShortText));
    return true;
  });
  EXPECT_EQ(b_->receive(kShort).size(), kShort.size);
  EXPECT_EQ(pieces, 3);

  a_->send(kShort, as_bytes(kShortText));
  EXPECT_EQ(b_->receive(kShort).size(), kShort.size);
  EXPECT_EQ(pieces, 3) << "nobody waited";

  b_->when_idle([&] {
    ++pieces;
    return false;
  });
  std::thread sender([&] {
    while (pieces == 3) std::this_thread::yield();
    a_->send(kShort, as_bytes(kShortText));
  });
  EXPECT_EQ(b_->receive(kShort).size(), kShort.size) << "waits as usual when there is nothing to do";
  sender.join();
}

TEST_F(ChannelPair, PutsTheDocumentedBytesOnTheWire) {
  const auto listening = std::make_shared<TamperingTransport>(a_->transport());
  Channel(listening).send(kShort, as_bytes(kShortText));
  const FrameHeaderBytes header = encode_header({kShort, 0});
  Bytes expected(header.begin(), header.end());
  const Bytes payload = bytes_of(kShortText);
  expected.insert(expected.end(), payload.begin(), payload.end());
  const std::uint32_t checksum = crc32c(payload, header_checksum(header));
  const Bytes trailer = write_to_bytes([&](ByteSink& out) { out.write_u32(checksum); });
  expected.insert(expected.end(), trailer.begin(), trailer.end());
  EXPECT_EQ(listening->sent_bytes(), expected);
}

TEST_F(ChannelPair, CountsPayloadPerStepAtBothEnds) {
  const std::vector<Message> messages = {{protocol::steps::kPublicKey, 0, 100},
                                         {protocol::steps::kForwardOperand, 0, 7},
                                         {protocol::steps::kForwardOperand, 1, 70000},
                                         {protocol::steps::kOutputShare, 0, 0}};
  for (const Message& m : messages) {
    a_->send(m, Bytes(m.size));
    (void)b_->receive(m);
  }
  const std::map<Step, Traffic> expected = {{protocol::steps::kPublicKey, {1, 100}},
                                            {protocol::steps::kForwardOperand, {2, 70007}},
                                            {protocol::steps::kOutputShare, {1, 0}}};
  EXPECT_EQ(a_->sent(), expected);
  EXPECT_EQ(b_->received(), expected);
  EXPECT_EQ(total(a_->sent()), (Traffic{4, 70107}));
  EXPECT_TRUE(a_->received().empty());
  EXPECT_TRUE(b_->sent().empty());
  EXPECT_EQ(total(b_->sent()), Traffic{});
}

TEST_F(ChannelPair, DoesNotCountMessagesThatFailed) {
  a_->send(kShort, as_bytes(kShortText));
  EXPECT_THROW((void)b_->receive({protocol::steps::kOutputShare, 2, 8}), ProtocolError);
  EXPECT_EQ(total(b_->received()), Traffic{});
  EXPECT_THROW(a_->send(kShort, as_bytes(kShortText)), TransportError);
  EXPECT_EQ(total(a_->sent()), (Traffic{1, 8}));
}

TEST_F(ChannelPair, RefusesAnotherMessageThanExpectedAndCloses) {
  struct Case {
    Message sent;
    Message expected;
    std::vector<std::string> named;
  };
  const std::vector<Case> cases = {
      {{protocol::steps::kForwardOperand, 2, 8},
       {protocol::steps::kOutputShare, 2, 8},
       {"forward operand", "output share"}},
      {{protocol::steps::kForwardOperand, 2, 8}, {protocol::steps::kForwardOperand, 5, 8}, {"layer 2", "layer 5"}},
      {{protocol::steps::kForwardOperand, 2, 8},
       {protocol::steps::kForwardOperand, 2, 9},
       {"8 bytes", "expected 9", "forward operand"}},
      {{protocol::steps::kForwardOperand, 2, 8},
       {protocol::steps::kForwardOperand, 2, 7},
       {"8 bytes", "expected 7", "layer 2"}},
      {{protocol::steps::kForwardOperand, 2, 8}, {protocol::steps::kForwardOperand, 2, 0}, {"8 bytes", "expected 0"}},
      {{Step::numbered(999), 2, 8}, {protocol::steps::kForwardOperand, 2, 8}, {"unknown", "forward operand"}},
  };
  for (const Case& c : cases) {
    std::tie(a_, b_) = make_memory_channels();
    b_->name_steps(testing::all_steps());
    // As a hostile peer would: a header of any step at all.
    a_->transport()->write(encode_header({c.sent, 0}));
    a_->transport()->write(Bytes(c.sent.size + kFrameTrailerBytes));
    bool body_ran = false;
    EXPECT_THAT(message_of<ProtocolError>([&] { b_->receive(c.expected, [&](ByteSource&) { body_ran = true; }); }),
                AllOf(HasSubstr(c.named[0]), HasSubstr(c.named[1]), HasSubstr(c.named.back())));
    EXPECT_FALSE(body_ran) << "the body must not see a message it did not ask for";
    expect_closed();
  }
}

TEST_F(ChannelPair, SendsNoStepThatDoesNotSayWhatItReveals) {
  EXPECT_THROW(a_->send({Step::numbered(999), 0, 1}, Bytes(1)), InvalidArgument);
  a_->send(kShort, as_bytes(kShortText));
  EXPECT_EQ(b_->receive(kShort), bytes_of(kShortText));
}

TEST_F(ChannelPair, RefusesABodyThatWritesAnotherNumberOfBytes) {
  struct Case {
    std::size_t size;
    std::vector<std::size_t> writes;
    const char* complaint;
  };
  const std::vector<Case> cases = {
      {8, {}, "shorter than the 8 bytes"},       {8, {3, 4}, "shorter than the 8 bytes"},
      {8, {3, 6}, "longer than the 8 bytes"},    {8, {9}, "longer than the 8 bytes"},
      {0, {1}, "longer than the 0 bytes"},       {200000, {100000, 99999}, "shorter than the 200000 bytes"},
      {8, {8, 0, 1}, "longer than the 8 bytes"}, {200000, {100000, 100001}, "longer than the 200000 bytes"},
  };
  for (const Case& c : cases) {
    std::tie(a_, b_) = make_memory_channels();
    const Message message = {protocol::steps::kGradientProduct, 0, c.size};
    EXPECT_THAT(message_of<InvalidArgument>([&] {
                  a_->send(message, [&](ByteSink& out) {
                    for (const std::size_t n : c.writes) out.write(Bytes(n));
                  });
                }),
                AllOf(HasSubstr(c.complaint), HasSubstr("gradient product")));
    ASSERT_TRUE(a_->sent().empty());
    EXPECT_THROW((void)b_->receive(message), TransportError);
    expect_closed();
  }
}

TEST_F(ChannelPair, RefusesABodyThatReadsAnotherNumberOfBytes) {
  for (const std::size_t n : {0, 1, 7}) {
    std::tie(a_, b_) = make_memory_channels();
    a_->send(kShort, as_bytes(kShortText));
    EXPECT_THAT(message_of<ProtocolError>([&] {
                  b_->receive(kShort, [&](ByteSource& in) {
                    Bytes part(n);
                    in.read(part);
                    EXPECT_EQ(in.remaining(), 8 - n);
                  });
                }),
                HasSubstr(std::to_string(8 - n) + " bytes too many"));
    expect_closed();
  }
  std::tie(a_, b_) = make_memory_channels();
  a_->send(kShort, as_bytes(kShortText));
  EXPECT_THAT(message_of<ProtocolError>([&] {
                b_->receive(kShort, [](ByteSource& in) {
                  Bytes nine(9);
                  in.read(nine);
                });
              }),
              HasSubstr("ends too early"));
  expect_closed();
}

TEST_F(ChannelPair, PassesOnWhatABodyThrowsAndCloses) {
  EXPECT_THROW(a_->send(kShort, [](ByteSink&) { throw std::runtime_error("mine"); }), std::runtime_error);
  expect_closed();
  std::tie(a_, b_) = make_memory_channels();
  a_->send(kShort, as_bytes(kShortText));
  EXPECT_THROW(b_->receive(kShort, [](ByteSource&) { throw std::runtime_error("mine"); }), std::runtime_error);
  expect_closed();
}

TEST_F(ChannelPair, CarriesLargeMessagesInPieces) {
  const Bytes payload = random_bytes((std::size_t{5} << 20) + 123, 1);
  const Message message = {protocol::steps::kForwardProduct, 0, payload.size()};
  auto sender = std::async(std::launch::async, [&] {
    a_->send(message, [&](ByteSink& out) {
      SeededRandom random(2);
      for (ByteView left = payload; !left.empty();) {
        // Small pieces, and some beyond what is gathered.
        const std::size_t n = std::min<std::size_t>(left.size(), random.below(random.below(10) == 0 ? 200000 : 3000));
        out.write(left.first(n));
        left = left.subspan(n);
      }
    });
  });
  Bytes arrived(payload.size());
  b_->receive(message, [&](ByteSource& in) {
    SeededRandom random(3);
    for (std::span<std::byte> left = arrived; !left.empty();) {
      EXPECT_EQ(in.remaining(), left.size());
      const std::size_t n = std::min<std::size_t>(left.size(), random.below(random.below(10) == 0 ? 300000 : 2000));
      in.read(left.first(n));
      left = left.subspan(n);
    }
  });
  sender.get();
  EXPECT_TRUE(arrived == payload);
  EXPECT_EQ(total(b_->received()), (Traffic{1, payload.size()}));
}

TEST_F(ChannelPair, SendsPiecesWhileTheBodyStillWorks) {
  const Bytes half(100000, std::byte{1});
  const Message message = {protocol::steps::kForwardProduct, 0, 2 * half.size()};
  std::promise<void> first_half_arrived;
  auto sender = std::async(std::launch::async, [&] {
    a_->send(message, [&](ByteSink& out) {
      out.write(half);
      EXPECT_EQ(first_half_arrived.get_future().wait_for(kPatience), std::future_status::ready);
      out.write(half);
    });
  });
  b_->receive(message, [&](ByteSource& in) {
    Bytes arrived(half.size());
    in.read(arrived);
    first_half_arrived.set_value();
    in.read(arrived);
    EXPECT_EQ(arrived, half);
  });
  sender.get();
}

TEST_F(ChannelPair, SendsAndReceivesAtTheSameTime) {
  constexpr int kMessages = 200;
  const auto message = [](int i) {
    return Message{protocol::steps::kOutputShare, static_cast<std::uint32_t>(i),
                   static_cast<std::uint64_t>(i) * 37 % 5000};
  };
  const auto send_all = [&](Channel& end, std::byte fill) {
    for (int i = 0; i < kMessages; ++i) end.send(message(i), Bytes(message(i).size, fill));
  };
  const auto receive_all = [&](Channel& end, std::byte fill) {
    for (int i = 0; i < kMessages; ++i) EXPECT_EQ(end.receive(message(i)), Bytes(message(i).size, fill));
  };
  std::vector<std::future<void>> threads;
  threads.push_back(std::async(std::launch::async, [&] { send_all(*a_, std::byte{1}); }));
  threads.push_back(std::async(std::launch::async, [&] { receive_all(*a_, std::byte{2}); }));
  threads.push_back(std::async(std::launch::async, [&] { send_all(*b_, std::byte{2}); }));
  threads.push_back(std::async(std::launch::async, [&] { receive_all(*b_, std::byte{1}); }));
  for (auto& thread : threads) thread.get();
  EXPECT_EQ(total(a_->sent()).messages, static_cast<std::uint64_t>(kMessages));
  EXPECT_EQ(a_->sent(), b_->received());
  EXPECT_EQ(b_->sent(), a_->received());
}

TEST_F(DamagedChannel, IsNoticedForEveryBit) {
  const std::size_t bits = 8 * (kFrameHeaderBytes + kShort.size + kFrameTrailerBytes);
  for (std::size_t bit = 0; bit < bits; ++bit) {
    std::tie(a_, b_) = make_memory_channels();
    const auto tampering = std::make_shared<TamperingTransport>(a_->transport(), Tampering{.flip_bit = bit});
    Channel sender(tampering);
    sender.send(kShort, as_bytes(kShortText));
    ASSERT_EQ(8 * tampering->sent_bytes().size(), bits);
    // Nothing more will come, so that no size however wrong makes the receiver wait.
    sender.close();
    EXPECT_THROW((void)b_->receive(kShort), ProtocolError) << "bit " << bit;
  }
}

TEST_F(DamagedChannel, IsNoticedInAnOpenLinkWithoutWaitingForMore) {
  // Bits of the size, in bytes 20 to 27: a receiver that believed it would wait for bytes that never come.
  for (std::size_t bit = 160; bit < 224; ++bit) {
    std::tie(a_, b_) = make_memory_channels();
    const auto tampering = std::make_shared<TamperingTransport>(a_->transport(), Tampering{.flip_bit = bit});
    Channel sender(tampering);
    sender.send(kShort, as_bytes(kShortText));
    auto receiver = std::async(std::launch::async, [&] { (void)b_->receive(kShort); });
    const bool in_time = receiver.wait_for(kPatience) == std::future_status::ready;
    EXPECT_TRUE(in_time) << "bit " << bit;
    if (!in_time) a_->close();
    EXPECT_THROW(receiver.get(), ProtocolError) << "bit " << bit;
  }
}

TEST_F(DamagedChannel, IsNoticedInALargeMessage) {
  const Bytes payload = random_bytes(300000, 4);
  const Message message = {protocol::steps::kForwardProduct, 0, payload.size()};
  for (const std::size_t byte : {std::size_t{0}, std::size_t{65536}, std::size_t{150001}, payload.size() - 1}) {
    std::tie(a_, b_) = make_memory_channels();
    const auto tampering = std::make_shared<TamperingTransport>(
        a_->transport(), Tampering{.flip_bit = 8 * (kFrameHeaderBytes + byte) + 3});
    Channel sender(tampering);
    sender.send(message, payload);
    EXPECT_THAT(message_of<ProtocolError>([&] { (void)b_->receive(message); }), HasSubstr("damaged"));
    expect_closed();
  }
}

TEST_F(DamagedChannel, IsNoticedWhenTheStreamEndsAnywhere) {
  const Bytes frame = frames_of({kShort});
  for (std::size_t length = 0; length < frame.size(); ++length) {
    std::tie(a_, b_) = make_memory_channels();
    a_->transport()->write(ByteView(frame).first(length));
    a_->close();
    EXPECT_THROW((void)b_->receive(kShort), TransportError) << length << " bytes";
  }
}

TEST_F(DamagedChannel, NoticesReplayedDroppedAndSwappedMessages) {
  const std::size_t size = frames_of({kShort}).size();
  const Bytes frames = frames_of({kShort, kShort, kShort});
  ASSERT_EQ(frames.size(), 3 * size);
  struct Case {
    std::vector<std::size_t> arriving;
    std::size_t good;
  };
  for (const auto& [arriving, good] : std::vector<Case>{{{0, 0}, 1}, {{0, 1, 0}, 2}, {{1}, 0}, {{0, 2}, 1}}) {
    std::tie(a_, b_) = make_memory_channels();
    for (const std::size_t i : arriving) a_->transport()->write(ByteView(frames).subspan(i * size, size));
    for (std::size_t i = 0; i < good; ++i) EXPECT_NO_THROW((void)b_->receive(kShort));
    EXPECT_THAT(message_of<ProtocolError>([&] { (void)b_->receive(kShort); }),
                HasSubstr("message number " + std::to_string(arriving.back()) + " arrived in place of " +
                          std::to_string(good)));
    expect_closed();
  }
}

TEST_F(DamagedChannel, RefusesAPayloadThatCameWithAnotherHeader) {
  // Each payload's checksum goes on from its header's: equal sizes do not make them exchangeable.
  const Bytes frames = frames_of({kShort, kShort});
  const std::size_t size = frames.size() / 2;
  Bytes mixed(frames.begin(), frames.begin() + kFrameHeaderBytes);
  mixed.insert(mixed.end(), frames.begin() + static_cast<std::ptrdiff_t>(size) + kFrameHeaderBytes, frames.end());
  a_->transport()->write(mixed);
  EXPECT_THROW((void)b_->receive(kShort), ProtocolError);
}

TEST_F(MemoryChannel, WakesABlockedReceiverWhenItCloses) {
  for (const bool by_the_peer : {false, true}) {
    std::tie(a_, b_) = make_memory_channels();
    std::promise<void> about_to_wait;
    auto receiver = std::async(std::launch::async, [&] {
      about_to_wait.set_value();
      (void)b_->receive(kShort);
    });
    about_to_wait.get_future().wait();
    (by_the_peer ? a_ : b_)->close();
    ASSERT_EQ(receiver.wait_for(kPatience), std::future_status::ready);
    EXPECT_THROW(receiver.get(), TransportError);
    expect_closed();
  }
}

TEST_F(MemoryChannel, WakesAReceiverInTheMiddleOfAMessage) {
  std::promise<void> in_the_middle;
  auto receiver = std::async(std::launch::async, [&] {
    b_->receive(kShort, [&](ByteSource& in) {
      (void)in.read_u32();
      in_the_middle.set_value();
      (void)in.read_u32();
    });
  });
  a_->transport()->write(ByteView(frames_of({kShort})).first(kFrameHeaderBytes + 4));
  in_the_middle.get_future().wait();
  a_->close();
  EXPECT_THROW(receiver.get(), TransportError);
}

TEST_F(MemoryChannel, DeliversWhatWasSentBeforeTheEnd) {
  a_->send(kShort, as_bytes(kShortText));
  a_.reset();
  EXPECT_EQ(b_->receive(kShort), bytes_of(kShortText));
  EXPECT_THROW((void)b_->receive(kShort), TransportError);
  EXPECT_THROW(b_->send(kShort, as_bytes(kShortText)), TransportError);
}

TEST_F(MemoryChannel, DoesNotTakeTheInsideOfARefusedMessageForTheNextOne) {
  // A hostile peer hides a whole valid frame in the payload of a message that nobody expects.
  const Message wanted{protocol::steps::kOutputShare, 3, 4};
  const Bytes hidden = frames_of({wanted});
  a_->send({protocol::steps::kOutputShare, 0, hidden.size()}, hidden);
  EXPECT_THROW((void)b_->receive(wanted), ProtocolError);
  EXPECT_THROW((void)b_->receive(wanted), TransportError);
}

TEST_F(MemoryChannel, ReceivesNothingAfterItWasClosedOnThisSide) {
  const Message m{protocol::steps::kOutputShare, 0, 4};
  a_->send(m, Bytes(4));
  b_->close();
  EXPECT_THROW((void)b_->receive(m), TransportError);
}

TEST_F(MemoryChannel, MayBeClosedTwice) {
  a_->close();
  EXPECT_NO_THROW(a_->close());
  EXPECT_NO_THROW(b_->close());
  expect_closed();
}

TEST_F(MemoryChannel, WithACapacityMakesASenderWaitUntilThePeerReceivesOrEitherCloses) {
  std::tie(a_, b_) = make_memory_channels(/*capacity=*/16);
  EXPECT_EQ(a_->send_capacity(), 16U);
  const Bytes payload = random_bytes(1000, 9);
  const Message message{protocol::steps::kForwardOperand, 0, payload.size()};
  auto sending = std::async(std::launch::async, [&] { a_->send(message, payload); });
  EXPECT_EQ(b_->receive(message), payload);
  EXPECT_NO_THROW(sending.get());

  auto stuck = std::async(std::launch::async, [&] { a_->send(message, payload); });
  b_->close();
  EXPECT_THROW(stuck.get(), TransportError);
  EXPECT_THROW((void)make_memory_channels(0), InvalidArgument);
}

TEST_F(MemoryChannel, NeverMakesASenderWait) {
  const Message large = {protocol::steps::kForwardOperand, 0, std::uint64_t{8} << 20};
  EXPECT_GE(a_->send_capacity(), large.size);
  a_->send(large, Bytes(large.size));
  EXPECT_EQ(total(a_->sent()), (Traffic{1, large.size}));
}

}  // namespace
}  // namespace blindfl::net::channel_test
