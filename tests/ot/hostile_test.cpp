// What a peer may get wrong: lengths, headers, other sessions, another place in the pool.

#include <gtest/gtest.h>

#include <algorithm>

#include "blindfl/base/error.h"
#include "ot/ot_pair.h"

namespace blindfl::ot::hostile_test {
namespace {

Random& random() {
  return OtPair::random();
}

struct Messages {
  explicit Messages(const OtSpec& spec) : sender(spec, random()), receiver(spec, random()) {
    sender_hello = sender.hello();
    receiver_hello = receiver.hello();
  }
  SenderSetup sender;
  ReceiverSetup receiver;
  Bytes sender_hello;
  Bytes receiver_hello;
};

RandomOtSender finish(const OtSpec& spec, ByteView receiver_hello, ByteView trees) {
  return SenderSetup(spec, random()).finish(receiver_hello, trees);
}

Bytes flipped(Bytes message, std::size_t at) {
  message[at] ^= std::byte{0x10};
  return message;
}

TEST(OtSetup, MessagesHaveTheSizesThatAreDocumented) {
  Messages messages(spec_of(4));
  EXPECT_EQ(messages.sender_hello.size(), kSenderHelloBytes);
  EXPECT_EQ(messages.receiver_hello.size(), kReceiverHelloBytes);
  const auto [pool, trees] = std::move(messages.receiver).finish(messages.sender_hello, random());
  EXPECT_EQ(trees.size(), kTreesMessageBytes);
  EXPECT_EQ(pool.ready(), 0U);
}

TEST(OtSetup, OnlyThreeDepthsAreAllowed) {
  for (int depth = -1; depth <= 16; ++depth) {
    if (depth == 2 || depth == 4 || depth == 8) continue;
    EXPECT_THROW(OtSession{spec_of(depth)}, InvalidArgument);
  }
}

TEST(OtSetup, FinishesOnce) {
  Messages messages(spec_of(4));
  auto [pool, trees] = std::move(messages.receiver).finish(messages.sender_hello, random());
  // NOLINTBEGIN(bugprone-use-after-move): what is tested
  EXPECT_THROW((void)std::move(messages.receiver).finish(messages.sender_hello, random()), InvalidArgument);
  EXPECT_THROW((void)messages.receiver.hello(), InvalidArgument);
  (void)std::move(messages.sender).finish(messages.receiver_hello, trees);
  EXPECT_THROW((void)std::move(messages.sender).finish(messages.receiver_hello, trees), InvalidArgument);
  // NOLINTEND(bugprone-use-after-move)
}

TEST(OtSetup, TruncatedHellosAndTreesAreErrors) {
  const OtSpec spec = spec_of(4);
  Messages messages(spec);
  for (const std::size_t size : {std::size_t{0}, std::size_t{31}, std::size_t{32}, kSenderHelloBytes - 1}) {
    EXPECT_THROW((void)ReceiverSetup(spec, random()).finish(ByteView(messages.sender_hello).first(size), random()),
                 ProtocolError);
  }
  const auto [pool, trees] = std::move(messages.receiver).finish(messages.sender_hello, random());
  SenderSetup fresh(spec, random());
  for (std::size_t size = 0; size < kReceiverHelloBytes; size += 7) {
    EXPECT_THROW((void)finish(spec, ByteView(messages.receiver_hello).first(size), trees), ProtocolError);
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{32}, kTreesMessageBytes - 1}) {
    EXPECT_THROW((void)finish(spec, messages.receiver_hello, ByteView(trees).first(size)), ProtocolError);
  }
  Bytes longer = trees;
  longer.emplace_back();
  EXPECT_THROW((void)finish(spec, messages.receiver_hello, longer), ProtocolError);
}

TEST(OtSetup, EveryByteOfAHeaderCounts) {
  const OtSpec spec = spec_of(4);
  Messages messages(spec);
  const auto [pool, trees] = std::move(messages.receiver).finish(messages.sender_hello, random());
  const OtSession session(spec);
  for (std::size_t at = 0; at < OtSession::kHeaderBytes; ++at) {
    const auto refuses = [&](const Bytes& message, OtStep step) {
      EXPECT_THROW((void)session.checked_body(flipped(message, at), step, 0, 0, message.size() - 32), ProtocolError);
    };
    refuses(messages.sender_hello, OtStep::kSenderHello);
    refuses(messages.receiver_hello, OtStep::kReceiverHello);
    refuses(trees, OtStep::kTrees);
  }
  EXPECT_THROW((void)session.checked_body(trees, OtStep::kExtension, 0, 0, kTreesBytes), ProtocolError);
}

TEST(OtSetup, MessagesOfOtherSessionsDirectionsAndDepthsAreErrors) {
  const Messages messages(spec_of(4));
  for (const OtSpec& other : {spec_of(4, 2), spec_of(4, 1, Party::kB), spec_of(2), spec_of(8)}) {
    EXPECT_THROW((void)ReceiverSetup(other, random()).finish(messages.sender_hello, random()), ProtocolError);
    Messages others(other);
    const auto [pool, trees] = std::move(others.receiver).finish(others.sender_hello, random());
    EXPECT_THROW((void)finish(spec_of(4), others.receiver_hello, trees), ProtocolError);
  }
}

TEST(OtExtension, TruncatedAndLongerMessagesAreErrorsAndChangeNothing) {
  OtPair pair;
  Bytes message = pair.receiver.extend(1);
  for (std::size_t size = 0; size < message.size(); ++size) {
    EXPECT_THROW(pair.sender.extend(ByteView(message).first(size), 1), ProtocolError);
  }
  EXPECT_THROW(pair.sender.extend(message, 2), ProtocolError);
  EXPECT_THROW(pair.sender.extend(message, 0), InvalidArgument);
  EXPECT_THROW((void)pair.receiver.extend(0), InvalidArgument);
  EXPECT_EQ(pair.sender.ready(), 0U);
  pair.sender.extend(message, 1);
  EXPECT_EQ(count_right(pair.sender.take(kTileOts), pair.receiver.take(kTileOts)), kTileOts);
  message.emplace_back();
  EXPECT_THROW(pair.sender.extend(message, 1), ProtocolError);
}

TEST(OtExtension, EveryByteOfTheHeaderCounts) {
  OtPair pair;
  const Bytes message = pair.receiver.extend(1);
  for (std::size_t at = 0; at < OtSession::kHeaderBytes; ++at) {
    EXPECT_THROW(pair.sender.extend(flipped(message, at), 1), ProtocolError) << at;
  }
  EXPECT_EQ(pair.sender.ready(), 0U);
}

TEST(OtExtension, MessagesOutOfOrderOrRepeatedAreErrors) {
  OtPair pair;
  const Bytes first = pair.receiver.extend(1);
  const Bytes second = pair.receiver.extend(1);
  EXPECT_THROW(pair.sender.extend(second, 1), ProtocolError);
  pair.sender.extend(first, 1);
  EXPECT_THROW(pair.sender.extend(first, 1), ProtocolError);
  pair.sender.extend(second, 1);
  EXPECT_EQ(count_right(pair.sender.take(4096), pair.receiver.take(4096)), 4096U);
}

// Masked content: any byte is legal, and a changed one changes pads that the receiver does not have.
TEST(OtExtension, AFlippedBitOfTheBodyChangesOnlyItsOwnColumn) {
  OtPair pair;
  const Bytes message = pair.receiver.extend(1);
  constexpr std::size_t kAt = 32 + 5 * kRowBytes + 17;  // bit 4: column 17 * 8 + 4 of a row group
  pair.sender.extend(flipped(message, kAt), 1);
  const SenderBatch sender = pair.sender.take(kTileOts);
  const ReceiverBatch receiver = pair.receiver.take(kTileOts);
  for (std::size_t i = 0; i < kTileOts; ++i) {
    const bool right = receiver.pads[i] == (choice_at(receiver, i) ? sender.one[i] : sender.zero[i]);
    if (i != 17 * 8 + 4) {
      EXPECT_TRUE(right) << i;
    }
  }
}

TEST(OtExtension, ErrorsHaveNoKeyMaterial) {
  OtPair pair;
  const Bytes message = pair.receiver.extend(1);
  try {
    pair.sender.extend(flipped(message, 0), 1);
    FAIL();
  } catch (const ProtocolError& error) {
    EXPECT_STREQ(
        error.what(),
        "oblivious transfer: the peer's message (extension) is of another session, direction or set of parameters");
  }
}

}  // namespace
}  // namespace blindfl::ot::hostile_test
