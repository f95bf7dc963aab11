#include "blindfl/net/ledger/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "blindfl/base/error.h"
#include "net/ledger_fixture.h"
#include "testing/steps.h"
#include "testing/tampering_transport.h"
#include "testing/thrown.h"

namespace blindfl::net::ledger_test {
namespace {

using ::testing::AllOf;
using testing::content_of;
using ::testing::HasSubstr;
using testing::message_of;
using ::testing::Not;
using testing::ScratchFolder;

// What A writes of `LedgerPair::exchange()`; made by another program, from the format's description alone.
constexpr std::string_view kLedgerOfA =
    "BlindFL ledger\t1\tparty\tA\tsession\tgolden\tstarted\t2026-11-15T14:30:05Z\t"
    "baa10148718161dffe520c3a12ea3eaa00c91ee80cb50a5fc6e857ef64c6b9a1\n"
    "0\tsent\tpublic key\t0\t-\t8\tpublic\tthe sender's public key\t54a670d0\t"
    "1ada6dc7524cb4edd342d7d9671280bdf3ef3f72fea32e14947d0ffb63bd5291\n"
    "0\treceived\tpublic key\t0\t-\t7\tpublic\tthe sender's public key\t3e5b31d1\t"
    "eaee94475b37c8e2bbdf3ba00208b8fed9303d42065d2e24602e4ed1ecf1c9b4\n"
    "1\tsent\tforward operand\t3\t62x2\t7\tencrypted\tthe sender's share of the receiver's weights, encrypted under "
    "the sender's key\t8ea2095f\t"
    "a5599cb381c4fec217664d636dff6b2b23d8147ec8850c31de319135909de97a\n"
    "1\treceived\toutput share\t4\t128x1\t0\tshare\tA's share of Z, rounded\t237b38ef\t"
    "97b442d7ef26496dea783b7e16446e809f3375b7f4cc6d0ecb72cf49ac428cc7\n"
    "2\tsent\tforward operand\t3\t62x2\t7\tencrypted\tthe sender's share of the receiver's weights, encrypted under "
    "the sender's key\t10d61917\t"
    "841ad1b93f944d24c93a46706cbf47fa775d6c37581360baf7cdb2e845345f6b\n"
    "end\tsent\t3\t22\treceived\t2\t7\t"
    "6b109b94f47e3f849e3f4db6f7c07faf1728506fda14a76893c81ff2b6fd45c5\n";

constexpr Message kShort = {.step = protocol::steps::kForwardOperand, .layer = 2, .size = 8};
constexpr std::string_view kShortText = "8 bytes!";

/// No file of this process grows beyond so many bytes, as if the disk were full.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : previous_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &previous_);
    const rlimit limit{bytes, previous_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &previous_);
    (void)std::signal(SIGXFSZ, previous_handler_);
  }

 private:
  rlimit previous_{};
  void (*previous_handler_)(int);
};

class LedgerOfALink : public LedgerPair {};

TEST_F(LedgerOfALink, HasTheDocumentedBytes) {
  exchange();
  close();
  EXPECT_EQ(content_of(path_a_), kLedgerOfA);
}

TEST_F(LedgerOfALink, HasTheSameLinesAtBothEndsButForTheDirection) {
  exchange();
  close();
  const auto chain = [](const std::filesystem::path& path, const std::string& direction) {
    std::string lines;
    for (std::string line : lines_of(content_of(path))) {
      const std::size_t at = line.find("\t" + direction + "\t");
      if (at == std::string::npos || line.starts_with("end")) continue;
      lines += line.erase(at, direction.size() + 1) + "\n";
    }
    return lines;
  };
  EXPECT_EQ(chain(path_a_, "sent"), chain(path_b_, "received"));
  EXPECT_EQ(chain(path_b_, "sent"), chain(path_a_, "received"));
  EXPECT_EQ(lines_of(chain(path_a_, "sent")).size(), 3U);
}

TEST_F(LedgerOfALink, HasNoPayload) {
  const std::string payload = "a secret of thirty-two bytes, ok";
  const Bytes zeros(32);
  pass(*a_, *b_, {protocol::steps::kOutputShare, 0, payload.size(), 2, 2}, payload);
  a_->send({protocol::steps::kOutputShare, 0, zeros.size()}, zeros);
  (void)b_->receive({protocol::steps::kOutputShare, 0, zeros.size()});
  close();
  std::string hex;
  for (const char c : payload) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    hex += {kDigits[static_cast<unsigned char>(c) / 16], kDigits[static_cast<unsigned char>(c) % 16]};
  }
  for (const auto& path : {path_a_, path_b_}) {
    std::string text = content_of(path);
    EXPECT_THAT(text, AllOf(Not(HasSubstr("secret")), Not(HasSubstr(std::string(32, '\0')))));
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    // Four bytes would be no accident either, but for the hashes, whose digits are random.
    for (std::size_t at = 0; at + 12 <= hex.size(); at += 2) EXPECT_THAT(text, Not(HasSubstr(hex.substr(at, 12))));
    EXPECT_THAT(text, Not(HasSubstr(std::string(16, '0'))));
  }
}

TEST_F(LedgerOfALink, HasExactlyTheMessagesThatCount) {
  exchange();
  EXPECT_THROW(a_->send(kShort, as_bytes("short")), InvalidArgument);
  EXPECT_THROW((void)b_->receive(kShort), TransportError);
  close();
  const auto expect_counts = [](const Channel& channel, const std::filesystem::path& path) {
    std::map<Step, Traffic> sent;
    std::map<Step, Traffic> received;
    for (const StepTotals& totals : audit(read_ledger(path, testing::all_steps()))) {
      if (totals.sent.messages > 0) sent[totals.step] = totals.sent;
      if (totals.received.messages > 0) received[totals.step] = totals.received;
    }
    EXPECT_EQ(sent, channel.sent());
    EXPECT_EQ(received, channel.received());
  };
  expect_counts(*a_, path_a_);
  expect_counts(*b_, path_b_);
}

TEST_F(LedgerOfALink, LeavesOutAMessageThatArrivedDamaged) {
  Channel damaged(std::make_shared<testing::TamperingTransport>(
      a_->transport(), testing::Tampering{.flip_bit = 8 * (kFrameHeaderBytes + 3)}));
  damaged.send(kShort, as_bytes(kShortText));
  EXPECT_THROW((void)b_->receive(kShort), ProtocolError);
  b_->close_ledger();
  EXPECT_TRUE(read_ledger(path_b_, testing::all_steps()).received.entries.empty());
}

TEST_F(LedgerOfALink, IsWrittenByASenderAndAReceiverAtTheSameTime) {
  constexpr std::uint32_t kMessages = 400;
  const auto message = [](std::uint32_t i) { return Message{protocol::steps::kForwardProduct, i, i % 50, i, 1}; };
  const auto send = [&](Channel& end) {
    for (std::uint32_t i = 0; i < kMessages; ++i) end.send(message(i), Bytes(i % 50, static_cast<std::byte>(i)));
  };
  const auto receive = [&](Channel& end) {
    for (std::uint32_t i = 0; i < kMessages; ++i) (void)end.receive(message(i));
  };
  std::thread a_sends([&] { send(*a_); });
  std::thread a_receives([&] { receive(*a_); });
  std::thread b_sends([&] { send(*b_); });
  receive(*b_);
  for (std::thread* thread : {&a_sends, &a_receives, &b_sends}) thread->join();
  close();
  const LedgerFile a = read_ledger(path_a_, testing::all_steps());
  const LedgerFile b = read_ledger(path_b_, testing::all_steps());
  EXPECT_EQ(a.sent.traffic.messages, kMessages);
  EXPECT_EQ(a.received.traffic.messages, kMessages);
  EXPECT_EQ(a.sent.hash, b.received.hash);
  EXPECT_EQ(b.sent.hash, a.received.hash);
}

TEST_F(LedgerOfALink, StartsBeforeTheFirstMessageAndOnce) {
  const auto start = [&](Channel& channel, const char* name) {
    channel.write_ledger(std::make_unique<Ledger>(folder_ / name, head_of("A")));
  };
  EXPECT_THROW(start(*a_, "second"), InvalidArgument);
  const auto [c, d] = make_memory_channels();
  pass(*c, *d, kShort, kShortText);
  EXPECT_THROW(start(*c, "sender's"), InvalidArgument);
  EXPECT_THROW(start(*d, "receiver's"), InvalidArgument);
}

TEST_F(LedgerOfALink, IsOnDiskUpToTheLastFewMessagesBeforeItIsClosed) {
  for (std::size_t i = 1; i <= 3 * Ledger::kLinesPerFlush; ++i) {
    pass(*a_, *b_, kShort, kShortText);
    const std::size_t written = read_ledger(path_a_, testing::all_steps()).sent.entries.size();
    EXPECT_LT(i - written, Ledger::kLinesPerFlush);
  }
}

TEST_F(LedgerOfALink, IsClosedWithItsChannel) {
  exchange();
  a_.reset();
  EXPECT_EQ(content_of(path_a_), kLedgerOfA);
}

TEST_F(LedgerOfALink, EndsTheLinkWhenItIsClosed) {
  a_->close_ledger();
  a_->close_ledger();
  EXPECT_THROW(a_->send(kShort, as_bytes(kShortText)), TransportError);
  EXPECT_THROW((void)b_->receive(kShort), TransportError);
}

TEST_F(LedgerOfALink, ThatCannotBeWrittenStopsTheRunAndNamesTheFile) {
  std::string first;
  std::string at_close;
  std::size_t sent = 0;
  {
    const FullDisk full(2000);
    first = message_of<DataError>([&] {
      for (; sent < 1000; ++sent) a_->send(kShort, as_bytes(kShortText));
    });
    at_close = message_of<DataError>([&] { a_->close_ledger(); });
  }
  EXPECT_LT(sent, Ledger::kLinesPerFlush);
  for (const std::string& message : {first, at_close}) {
    EXPECT_THAT(message, AllOf(HasSubstr(path_a_.string()), HasSubstr("writing the ledger failed")));
  }
  EXPECT_THROW(a_->send(kShort, as_bytes(kShortText)), TransportError) << "the peer must learn of it";
  a_.reset();
  const LedgerFile ledger = read_ledger(path_a_, testing::all_steps());
  EXPECT_FALSE(ledger.closed);
  EXPECT_TRUE(ledger.cut_within_line);
}

TEST(Ledger, ThatCannotBeFinishedSaysSo) {
  const ScratchFolder folder;
  Ledger ledger(folder / "a", head_of("A"));
  ledger.write(Direction::kSent, kShort, 7);
  std::string message;
  {
    const FullDisk full(300);
    message = message_of<DataError>([&] { ledger.close(); });
  }
  EXPECT_THAT(message, HasSubstr((folder / "a").string()));
  EXPECT_THROW(ledger.close(), DataError) << "and does not forget it";
}

TEST(Ledger, ThatCannotBeginLeavesNoFile) {
  const ScratchFolder folder;
  std::string message;
  {
    const FullDisk full(20);
    message = message_of<DataError>([&] { Ledger(folder / "a", head_of("A")); });
  }
  EXPECT_THAT(message, HasSubstr((folder / "a").string()));
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
}

TEST(Ledger, IsNeverOverwritten) {
  const ScratchFolder folder;
  (void)folder.write("a", "precious");
  EXPECT_THAT(message_of<DataError>([&] { Ledger(folder / "a", head_of("A")); }),
              AllOf(HasSubstr((folder / "a").string()), HasSubstr("never overwritten")));
  EXPECT_EQ(content_of(folder / "a"), "precious");
  // Nor does it follow a link to somewhere else.
  std::filesystem::create_symlink(folder / "elsewhere", folder / "link");
  EXPECT_THROW(Ledger(folder / "link", head_of("A")), DataError);
  EXPECT_FALSE(std::filesystem::exists(folder / "elsewhere"));
}

TEST(Ledger, NeedsAFolderThatCanBeWritten) {
  const ScratchFolder folder;
  (void)folder.write("file", "");
  for (const auto& path : {folder / "missing" / "a", folder / "file" / "a"}) {
    EXPECT_THAT(message_of<DataError>([&] { Ledger(path, head_of("A")); }),
                AllOf(HasSubstr(path.string()), HasSubstr("folder")));
  }
}

TEST(Ledger, NeedsPermissionToWriteInItsFolder) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const ScratchFolder folder;
  std::filesystem::create_directory(folder / "locked");
  std::filesystem::permissions(folder / "locked", std::filesystem::perms::owner_read);
  EXPECT_THAT(message_of<DataError>([&] { Ledger(folder / "locked" / "a", head_of("A")); }), HasSubstr("folder"));
}

TEST(Ledger, IsForItsOwnersEyesOnly) {
  const ScratchFolder folder;
  const Ledger ledger(folder / "a", head_of("A"));
  struct stat status {};
  ASSERT_EQ(stat(ledger.path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST(Ledger, RefusesNamesThatWouldSpoilALine) {
  const ScratchFolder folder;
  for (const LedgerHead& head : {head_of(""), head_of("A\tB"), head_of("A\n"), head_of("A", "\x1b[2J"),
                                 head_of("A", std::string(65, 's')), head_of("\xc3\x84")}) {
    EXPECT_THROW(Ledger(folder / "a", head), InvalidArgument);
    EXPECT_FALSE(std::filesystem::exists(folder / "a"));
  }
  Ledger(folder / "a", head_of(std::string(64, 'p'), std::string(64, 's'))).close();
  EXPECT_EQ(read_ledger(folder / "a", testing::all_steps()).head.session, std::string(64, 's'));
}

TEST(Ledger, RefusesMessagesOnceItIsClosed) {
  const ScratchFolder folder;
  Ledger ledger(folder / "a", head_of("A"));
  ledger.close();
  EXPECT_THROW(ledger.write(Direction::kSent, kShort, 0), InvalidArgument);
  EXPECT_TRUE(read_ledger(folder / "a", testing::all_steps()).closed);
}

TEST(Ledger, HasRoomInALineForEveryStep) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  for (const Step& step : testing::all_steps().steps()) {
    LedgerLines lines;
    const Message largest{step, std::numeric_limits<std::uint32_t>::max(), kMost, kMost, kMost};
    // The message's number may have 19 more digits than here.
    EXPECT_LT(lines.message(Direction::kReceived, {largest, 0}).size() + 20, kMaxLedgerLineBytes) << name_of(step);
  }
}

}  // namespace
}  // namespace blindfl::net::ledger_test
