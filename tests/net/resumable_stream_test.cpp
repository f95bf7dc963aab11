#include "blindfl/net/resumable_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "blindfl/base/error.h"
#include "blindfl/base/random.h"
#include "testing/thrown.h"

namespace blindfl::net::resumable_stream_test {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

constexpr std::uint64_t kWindow = 4 * kLargestData;

Bytes joined(const std::vector<ResumableStream::Part>& parts) {
  Bytes bytes;
  for (const auto& part : parts) {
    bytes.insert(bytes.end(), part.piece->begin() + static_cast<std::ptrdiff_t>(part.begin),
                 part.piece->begin() + static_cast<std::ptrdiff_t>(part.end));
  }
  return bytes;
}

/// Two streams and a connection between them that the test makes, cuts and pumps by hand.
class StreamPair : public ::testing::Test {
 protected:
  ResumableStream a_{{kWindow}, [] {}};
  ResumableStream b_{{kWindow}, [] {}};

  void connect() {
    const HelloPacket of_a = a_.hello();
    b_.connected(of_a);
    a_.connected(b_.hello());
  }
  void cut() {
    a_.disconnected();
    b_.disconnected();
  }
  /// Carries up to `most` packets, those of one side first. Returns how many there were.
  static std::size_t carry(ResumableStream& from, ResumableStream& to, std::size_t most = 1000000) {
    std::size_t count = 0;
    for (; count < most; ++count) {
      const auto parts = from.next_packet();
      if (parts.empty()) break;
      to.deliver(decode_packet(joined(parts)));
    }
    return count;
  }
  void carry_all() {
    while (carry(a_, b_) + carry(b_, a_) > 0) {
    }
  }
};

Bytes numbers(std::size_t count, std::size_t first = 0) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>((first + i) * 2654435761U >> 13);
  return bytes;
}

Bytes read(ResumableStream& stream, std::size_t count) {
  Bytes bytes(count);
  stream.read(bytes);
  return bytes;
}

TEST_F(StreamPair, CarriesBytesBothWays) {
  a_.write(numbers(1000));  // before there is a connection
  connect();
  b_.write(numbers(70, 5));
  carry_all();
  EXPECT_TRUE(b_.has_arrived());
  EXPECT_EQ(read(b_, 300), numbers(300));
  EXPECT_EQ(read(b_, 700), numbers(700, 300));
  EXPECT_EQ(read(a_, 70), numbers(70, 5));
  EXPECT_FALSE(a_.has_arrived());
}

TEST_F(StreamPair, PutsManySmallWritesIntoOnePacket) {
  connect();
  for (std::size_t i = 0; i < 100; ++i) a_.write(numbers(10, 10 * i));
  EXPECT_EQ(carry(a_, b_), 1U);
  EXPECT_EQ(read(b_, 1000), numbers(1000));
}

TEST_F(StreamPair, LosesAndDoublesNothingHoweverOftenItIsCut) {
  SeededRandom random(3);
  std::size_t written = 0;
  std::size_t received = 0;
  connect();
  for (int round = 0; round < 3000; ++round) {
    const std::size_t size = 1 + random.below(40000);
    if (written - received + size < kWindow / 2) {
      a_.write(numbers(size, written));
      written += size;
    }
    // Some packets arrive, and some are lost with the connection.
    carry(a_, b_, random.below(3));
    carry(b_, a_, random.below(2));
    if (random.below(4) == 0) {
      for (std::size_t lost = random.below(3); lost > 0; --lost) (void)a_.next_packet();
      cut();
      connect();
    }
    if (b_.has_arrived()) {
      const std::size_t n = 1 + random.below(1000);
      if (n <= written - received) {
        carry(a_, b_);
        ASSERT_EQ(read(b_, n), numbers(n, received)) << "round " << round;
        received += n;
      }
    }
  }
  carry_all();
  EXPECT_EQ(read(b_, written - received), numbers(written - received, received));
  EXPECT_GT(a_.connections(), 500U);
}

TEST_F(StreamPair, MakesAWriterWaitForItsPeerToRead) {
  connect();
  std::atomic<bool> done = false;
  std::thread writer([&] {
    a_.write(numbers(kWindow + 1));
    done = true;
  });
  while (carry(a_, b_) == 0 || !b_.has_arrived()) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  carry_all();
  EXPECT_FALSE(done);
  EXPECT_EQ(read(b_, kWindow / 2), numbers(kWindow / 2));
  carry_all();
  writer.join();
  EXPECT_TRUE(done);
  carry_all();
  EXPECT_EQ(read(b_, kWindow / 2 + 1), numbers(kWindow / 2 + 1, kWindow / 2));
}

TEST_F(StreamPair, SendsNoFurtherThanThePeersWindow) {
  ResumableStream narrow({kLargestData}, [] {});
  narrow.connected(a_.hello());
  a_.connected(narrow.hello());
  a_.write(numbers(3 * kLargestData));
  EXPECT_GE(carry(a_, narrow), 1U) << "and the narrow side does not complain";
  EXPECT_EQ(read(narrow, kLargestData), numbers(kLargestData));
  EXPECT_FALSE(narrow.has_arrived());
  carry(narrow, a_);
  EXPECT_GE(carry(a_, narrow), 1U);
  EXPECT_EQ(read(narrow, kLargestData), numbers(kLargestData, kLargestData));
}

TEST_F(StreamPair, BeginsEachConnectionWithSmallPackets) {
  a_.write(numbers(3 * kLargestData));
  for (int i = 0; i < 2; ++i) {
    connect();
    std::vector<std::size_t> sizes;
    sizes.reserve(6);
    for (int k = 0; k < 6; ++k) sizes.push_back(joined(a_.next_packet()).size() - 1);
    EXPECT_EQ(sizes, (std::vector<std::size_t>{16384, 32768, 65536, 131072, 262144, 262144}));
    cut();
  }
}

TEST_F(StreamPair, DoesNotStallBetweenANarrowWriterAndAWideReader) {
  ResumableStream narrow({kLargestData}, [] {});
  ResumableStream wide({64 * kLargestData}, [] {});
  wide.connected(narrow.hello());
  narrow.connected(wide.hello());
  std::thread writer([&] { narrow.write(numbers(5 * kLargestData)); });
  Bytes all;
  while (all.size() < 5 * kLargestData) {
    carry(narrow, wide);
    if (wide.has_arrived()) {
      const Bytes piece = read(wide, 1024);
      all.insert(all.end(), piece.begin(), piece.end());
    }
    carry(wide, narrow);
  }
  writer.join();
  EXPECT_EQ(all, numbers(5 * kLargestData));
}

TEST_F(StreamPair, TakesNoWindowForMoreThanItsOwn) {
  HelloPacket hello = b_.hello();
  hello.window = ~std::uint64_t{0};
  a_.connected(hello);
  a_.write(numbers(100));
  EXPECT_EQ(joined(a_.next_packet()).size(), 101U);
}

TEST_F(StreamPair, ThrowsOutAPeerThatIgnoresTheWindow) {
  connect();
  DataPacket data{Bytes(1 + kLargestData, kDataKind)};
  for (int i = 0; i < 4; ++i) a_.deliver(data);
  EXPECT_THAT(message_of<ProtocolError>([&] { a_.deliver(data); }), HasSubstr("window"));
}

TEST_F(StreamPair, RefusesCreditForWhatWasNotSent) {
  connect();
  a_.write(numbers(100));
  EXPECT_THROW(a_.deliver(CreditPacket{100}), ProtocolError) << "written, not sent";
  carry(a_, b_);
  EXPECT_NO_THROW(a_.deliver(CreditPacket{60}));
  EXPECT_THROW(a_.deliver(CreditPacket{59}), ProtocolError) << "credit never shrinks";
  EXPECT_THROW(a_.deliver(CreditPacket{101}), ProtocolError);
}

TEST_F(StreamPair, RefusesAHelloThatDoesNotFit) {
  connect();
  a_.write(numbers(100));
  carry(a_, b_);
  (void)read(b_, 100);
  a_.deliver(CreditPacket{100});
  cut();

  HelloPacket hello = b_.hello();
  hello.received = 99;  // forgotten here
  EXPECT_THROW(a_.connected(hello), ProtocolError);
  hello.received = 101;
  EXPECT_THROW(a_.connected(hello), ProtocolError);
  hello = b_.hello();
  hello.window = 1;
  EXPECT_THROW(a_.connected(hello), ProtocolError);
  hello = b_.hello();
  hello.version = 2;
  EXPECT_THAT(message_of<ConfigError>([&] { a_.connected(hello); }), HasSubstr("version 2"));
  EXPECT_NO_THROW(a_.connected(b_.hello()));
}

TEST_F(StreamPair, TellsARestartedPeerFromOneThatComesBack) {
  connect();
  cut();
  ResumableStream restarted({kWindow}, [] {});
  EXPECT_THAT(message_of<TransportError>([&] { a_.connected(restarted.hello()); }), HasSubstr("restarted"));
  EXPECT_THAT(message_of<TransportError>([&] { restarted.connected(a_.hello()); }), HasSubstr("another session"));
  EXPECT_NO_THROW(connect());
}

TEST_F(StreamPair, RefusesTheFirstHelloAgainOnceThereWasMore) {
  const HelloPacket first = a_.hello();
  connect();
  b_.write(numbers(10));
  carry(b_, a_);
  (void)read(a_, 10);
  b_.deliver(CreditPacket{10});
  cut();
  EXPECT_THROW(b_.connected(first), ProtocolError) << "a replayed hello asks for what is forgotten";
}

TEST_F(StreamPair, TakesPacketsOnlyWhileConnected) {
  EXPECT_THROW(a_.deliver(CreditPacket{0}), ProtocolError);
  connect();
  EXPECT_THROW(a_.deliver(b_.hello()), ProtocolError);
  cut();
  EXPECT_THROW(a_.deliver(CreditPacket{0}), ProtocolError);
  EXPECT_TRUE(a_.next_packet().empty());
}

TEST_F(StreamPair, DeliversEverythingBeforeTheEndAndThenSaysWhy) {
  connect();
  a_.write(numbers(50));
  a_.close({ByeReason::kInterrupted, {}});
  EXPECT_THROW(a_.write(numbers(1)), TransportError);
  EXPECT_THROW((void)read(a_, 1), TransportError);
  carry_all();
  EXPECT_EQ(read(b_, 50), numbers(50));
  EXPECT_THAT(message_of<TransportError>([&] { (void)read(b_, 1); }), HasSubstr("interrupted"));
  EXPECT_THAT(message_of<TransportError>([&] { b_.write(numbers(1)); }), HasSubstr("interrupted"));
  EXPECT_TRUE(a_.is_over());
  EXPECT_TRUE(b_.is_over());
  EXPECT_THROW(b_.deliver(DataPacket{Bytes(2, kDataKind)}), ProtocolError) << "nothing follows an end";
}

TEST_F(StreamPair, BelievesNoAnswerToAnEndThatItDidNotSend) {
  connect();
  EXPECT_THROW(a_.deliver(ByeSeenPacket{}), ProtocolError);
  EXPECT_FALSE(a_.is_over());
}

TEST_F(StreamPair, KeepsManyTinyPacketsInLittleMemory) {
  connect();
  for (std::size_t i = 0; i < 100000; ++i) a_.deliver(DataPacket{{kDataKind, numbers(1, i)[0]}});
  EXPECT_EQ(read(a_, 100000), numbers(100000));
  EXPECT_FALSE(a_.has_arrived());
}

TEST_F(StreamPair, SaysItsEndAgainAfterACut) {
  connect();
  a_.close({ByeReason::kDone, {}});
  (void)a_.next_packet();  // lost
  cut();
  connect();
  carry_all();
  EXPECT_TRUE(a_.is_over());
  EXPECT_THAT(message_of<TransportError>([&] { (void)read(b_, 1); }), HasSubstr("closed the link"));
}

TEST_F(StreamPair, CountsOnlyConnectedTimeAsSilence) {
  ResumableStream waiting({.window = kWindow, .silence = std::chrono::milliseconds(300)}, [] {});
  const auto meet = [&] {
    const HelloPacket hello = waiting.hello();
    b_.connected(hello);
    waiting.connected(b_.hello());
  };
  meet();
  std::thread reader([&] {
    EXPECT_EQ(read(waiting, 10), numbers(10)) << "away is not silent";
    EXPECT_THAT(message_of<TransportError>([&] { (void)read(waiting, 1); }), HasSubstr("sent nothing for 300 ms"));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  waiting.disconnected();
  b_.disconnected();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  meet();
  b_.write(numbers(10));
  carry(b_, waiting);
  reader.join();
  EXPECT_THROW(waiting.write(numbers(1)), TransportError) << "it is lost for good";
}

TEST_F(StreamPair, TellsAWaitingPersonWhatThePeerNotesBesideTheStream) {
  std::vector<std::string> heard;
  ResumableStream waiting(
      {.window = kWindow, .on_notice = [&](const LinkNotice& notice) { heard.push_back(notice.words); }}, [] {});
  const HelloPacket hello = waiting.hello();
  b_.connected(hello);
  waiting.connected(b_.hello());
  b_.write(numbers(5));
  b_.note("it waits for shop");
  b_.note("it waits for bank");
  carry(b_, waiting);
  EXPECT_EQ(read(waiting, 5), numbers(5)) << "notes are no bytes of the stream";
  EXPECT_THAT(heard, ::testing::ElementsAre()) << "nobody waits";
  std::thread reader([&] { EXPECT_THROW((void)read(waiting, 1), TransportError); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  waiting.fail("over");
  reader.join();
  EXPECT_THAT(heard, ::testing::ElementsAre("the peer says: it waits for bank")) << "the last";
  EXPECT_THROW(b_.note(""), InvalidArgument);
}

TEST_F(StreamPair, ShowsNoMoreNotesThanPeopleWouldRead) {
  std::size_t heard = 0;
  ResumableStream waiting({.window = kWindow, .on_notice = [&](const LinkNotice& /*notice*/) { ++heard; }}, [] {});
  const HelloPacket hello = waiting.hello();
  b_.connected(hello);
  waiting.connected(b_.hello());
  std::thread reader([&] { EXPECT_THROW((void)read(waiting, 1), TransportError); });
  for (int i = 0; i < 2000; ++i) {
    waiting.deliver(NotePacket{"again"});
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  waiting.fail("over");
  reader.join();
  EXPECT_GE(heard, 1U);
  EXPECT_LE(heard, 130U);
}

TEST_F(StreamPair, EndsWithAPeerThatTakesNothing) {
  ResumableStream waiting({.window = kWindow, .silence = std::chrono::milliseconds(100)}, [] {});
  const HelloPacket hello = waiting.hello();
  b_.connected(hello);
  waiting.connected(b_.hello());
  EXPECT_THAT(message_of<TransportError>([&] { waiting.write(numbers(kWindow + 1)); }),
              HasSubstr("sent nothing for 100 ms"));
}

TEST_F(StreamPair, WakesEverybodyWhenAllIsLost) {
  connect();
  std::thread reader([&] { EXPECT_THAT(message_of<TransportError>([&] { (void)read(a_, 1); }), HasSubstr("gone")); });
  std::thread writer(
      [&] { EXPECT_THAT(message_of<TransportError>([&] { a_.write(numbers(kWindow + 1)); }), HasSubstr("gone")); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  a_.fail("the peer is gone");
  reader.join();
  writer.join();
  ResumableStream lonely({kWindow}, [] {});
  lonely.fail("nobody came");
  EXPECT_THROW(lonely.wait_for_connection(), TransportError);
}

}  // namespace
}  // namespace blindfl::net::resumable_stream_test
