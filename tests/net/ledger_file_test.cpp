#include "blindfl/net/ledger/ledger_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "net/ledger_fixture.h"
#include "testing/steps.h"
#include "testing/thrown.h"

namespace blindfl::net::ledger_file_test {
namespace {

using ::testing::AllOf;
using testing::content_of;
using ::testing::HasSubstr;
using testing::message_of;
using ::testing::Not;

class LedgerRead : public LedgerPair {
 protected:
  LedgerRead() {
    exchange();
    close();
    text_ = content_of(path_a_);
  }

  [[nodiscard]] static LedgerFile read(const std::string& text) {
    std::istringstream in(text);
    return read_ledger(in, "changed", testing::all_steps());
  }
  /// Refused, or known to be incomplete: either way nobody takes it for the ledger that was written.
  [[nodiscard]] static bool is_noticed(const std::string& text) {
    try {
      return !read(text).closed;
    } catch (const DataError&) {
      return true;
    }
  }
  [[nodiscard]] static std::string refusal(const std::string& text) {
    return message_of<DataError>([&] { (void)read(text); });
  }
  [[nodiscard]] static std::string refusal_of_lines(const std::vector<std::string>& lines) {
    return refusal(text_of_lines(lines));
  }

  std::string text_;
};

/// Hashes of a forger, who can compute them like anybody else.
std::string forged_hash(const std::string& before, const std::string& text) {
  std::string hex;
  for (const std::byte b : digest_of(before + text)) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    hex += {kDigits[std::to_integer<std::size_t>(b) / 16], kDigits[std::to_integer<std::size_t>(b) % 16]};
  }
  return hex;
}

std::string start_of_chains() {
  return forged_hash("", "BlindFL ledger 1");
}

/// A head as given, with the right hash, then one message as given, with the right hash.
std::string forged(const std::string& head, const std::string& number, const std::string& rest) {
  return head + "\t" + forged_hash(start_of_chains(), head) + "\n" + number + "\tsent\t" + rest + "\t" +
         forged_hash(start_of_chains(), number + "\t" + rest) + "\n";
}

const std::string kHead = "BlindFL ledger\t1\tparty\tA\tsession\t-\tstarted\t2026-11-15T14:30:05Z";
const std::string kKey = "public key\t0\t-\t8\tpublic\tthe sender's public key\t54a670d0";

TEST_F(LedgerRead, HasAllThatWasWritten) {
  const LedgerFile a = read_ledger(path_a_, testing::all_steps());
  EXPECT_EQ(a.name, path_a_.string());
  EXPECT_EQ(a.head.party, "A");
  EXPECT_EQ(a.head.session, "golden");
  EXPECT_EQ(a.head.started, head_of("A").started);
  EXPECT_TRUE(a.closed);
  EXPECT_FALSE(a.cut_within_line);
  ASSERT_EQ(a.sent.entries.size(), 3U);
  ASSERT_EQ(a.received.entries.size(), 2U);
  EXPECT_EQ(a.sent.entries[0], (LedgerEntry{{protocol::steps::kPublicKey, 0, 8}, 0x54a670d0}));
  EXPECT_EQ(a.sent.entries[2], (LedgerEntry{{protocol::steps::kForwardOperand, 3, 7, 62, 2}, 0x10d61917}));
  EXPECT_EQ(a.received.entries[1], (LedgerEntry{{protocol::steps::kOutputShare, 4, 0, 128, 1}, 0x237b38ef}));
  EXPECT_EQ(a.sent.traffic, (Traffic{3, 22}));
  EXPECT_EQ(a.received.traffic, (Traffic{2, 7}));
  EXPECT_EQ(a.sent.hash, "841ad1b93f944d24c93a46706cbf47fa775d6c37581360baf7cdb2e845345f6b");
  const LedgerFile b = read_ledger(path_b_, testing::all_steps());
  EXPECT_EQ(b.head.party, "B");
  EXPECT_EQ(b.received.hash, a.sent.hash);
  EXPECT_EQ(b.sent.hash, a.received.hash);
  EXPECT_EQ(b.received.entries, a.sent.entries);
}

TEST_F(LedgerRead, AddsUpPerStepAndDirection) {
  const std::vector<StepTotals> totals = audit(read_ledger(path_a_, testing::all_steps()));
  ASSERT_EQ(totals.size(), 3U);
  EXPECT_EQ(totals[0].step, protocol::steps::kPublicKey);
  EXPECT_EQ(totals[0].sent, (Traffic{1, 8}));
  EXPECT_EQ(totals[0].received, (Traffic{1, 7}));
  EXPECT_EQ(totals[1].step, protocol::steps::kForwardOperand);
  EXPECT_EQ(totals[1].sent, (Traffic{2, 14}));
  EXPECT_EQ(totals[1].received, Traffic{});
  EXPECT_EQ(totals[2].step, protocol::steps::kOutputShare);
  EXPECT_EQ(totals[2].received, (Traffic{1, 0}));
}

TEST_F(LedgerRead, NoticesAChangeOfAnyByte) {
  ASSERT_FALSE(is_noticed(text_));
  for (std::size_t at = 0; at < text_.size(); ++at) {
    std::string changed = text_;
    for (const char c : {static_cast<char>(text_[at] ^ 1), static_cast<char>(text_[at] ^ 0x20), '\n', '\t', '\0', '0',
                         '1', ' ', 'x', '\x80'}) {
      if (c == text_[at]) continue;
      changed[at] = c;
      ASSERT_TRUE(is_noticed(changed)) << "byte " << at << " became " << static_cast<int>(c);
    }
  }
}

TEST_F(LedgerRead, NoticesAByteTooManyOrTooFewAnywhere) {
  for (std::size_t at = 0; at < text_.size(); ++at) {
    ASSERT_TRUE(is_noticed(std::string(text_).erase(at, 1))) << at;
    for (const char c : {'0', '\t', '\n', 'a'}) {
      ASSERT_TRUE(is_noticed(std::string(text_).insert(at, 1, c))) << at;
    }
  }
  ASSERT_TRUE(is_noticed(text_ + "\n"));
  ASSERT_TRUE(is_noticed(text_ + "x"));
}

TEST_F(LedgerRead, NoticesRemovedRepeatedAndSwappedLines) {
  const std::vector<std::string> lines = lines_of(text_);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::string> changed = lines;
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_TRUE(is_noticed(text_of_lines(changed))) << "without line " << i + 1;
    changed = lines;
    changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(i), lines[i]);
    EXPECT_TRUE(is_noticed(text_of_lines(changed))) << "twice line " << i + 1;
    for (std::size_t j = i + 1; j < lines.size(); ++j) {
      changed = lines;
      std::swap(changed[i], changed[j]);
      EXPECT_TRUE(is_noticed(text_of_lines(changed))) << "lines " << i + 1 << " and " << j + 1 << " swapped";
    }
  }
}

TEST_F(LedgerRead, SaysWhichLineIsMissing) {
  std::vector<std::string> lines = lines_of(text_);
  lines.erase(lines.begin() + 3);
  EXPECT_THAT(refusal_of_lines(lines),
              AllOf(HasSubstr("line 5"), HasSubstr("message number 2 is in place of number 1 of those sent")));
}

TEST_F(LedgerRead, KnowsATruncatedFileForWhatItIs) {
  const std::size_t head = text_.find('\n') + 1;
  for (std::size_t length = 0; length < text_.size(); ++length) {
    SCOPED_TRACE(length);
    const std::string cut = text_.substr(0, length);
    if (length < head) {
      EXPECT_THAT(refusal(cut), HasSubstr("ends before its first line"));
      continue;
    }
    const LedgerFile ledger = read(cut);
    EXPECT_FALSE(ledger.closed);
    EXPECT_EQ(ledger.cut_within_line, !cut.ends_with('\n'));
    const auto whole = static_cast<std::size_t>(std::count(cut.begin(), cut.end(), '\n'));
    EXPECT_EQ(1 + ledger.sent.entries.size() + ledger.received.entries.size(), whole);
  }
}

TEST_F(LedgerRead, RefusesWhatIsNotALedgerAndSaysWhy) {
  std::filesystem::create_directory(folder_ / "folder");
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  const auto refusal_of = [&](const char* name) {
    return message_of<DataError>([&] { (void)read_ledger(folder_ / name, testing::all_steps()); });
  };
  EXPECT_THAT(refusal_of("missing"), AllOf(HasSubstr("missing"), HasSubstr("no such file")));
  EXPECT_THAT(refusal_of("folder"), HasSubstr("not a regular file"));
  EXPECT_THAT(refusal_of("pipe"), HasSubstr("not a regular file"));
  EXPECT_THAT(refusal("row\tof\tanother\tfile\n"), AllOf(HasSubstr("changed: line 1"), HasSubstr("does not begin")));
  EXPECT_THAT(refusal("BlindFL ledger\t2\twhatever\n"), AllOf(HasSubstr("line 1"), HasSubstr("version '2'")));
  EXPECT_THAT(refusal("BlindFL ledger\t1\n"), HasSubstr("line 1"));
  EXPECT_THAT(refusal(text_ + text_), HasSubstr("follows the closing line"));
  EXPECT_THAT(refusal(text_ + "more"), HasSubstr("follows the closing line"));
}

TEST_F(LedgerRead, DoesNotTakeALineWithoutEndIntoMemory) {
  const std::string_view head = std::string_view(text_).substr(0, text_.find('\n') + 1);
  EXPECT_THAT(refusal(std::string(kMaxLedgerLineBytes, 'a')), AllOf(HasSubstr("line 1"), HasSubstr("longer than")));
  EXPECT_THAT(refusal(std::string(head) + std::string(1 << 20, 'a')), AllOf(HasSubstr("line 2"), HasSubstr("longer")));
  EXPECT_THAT(refusal(std::string(head) + std::string(1 << 20, '\0')), AllOf(HasSubstr("line 2"), HasSubstr("longer")));
}

TEST_F(LedgerRead, RefusesForgeriesWithRightHashes) {
  ASSERT_EQ(read(forged(kHead, "0", kKey)).sent.entries.size(), 1U) << "this one is as a ledger should be";
  const auto with = [](const std::string& from, const std::string& to) {
    std::string rest = kKey;
    return rest.replace(rest.find(from), from.size(), to);
  };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {forged(kHead, "1", kKey), "number 1 is in place of number 0"},
      {forged(kHead, "00", kKey), "differs from what a ledger would say"},
      {forged(kHead, "-1", kKey), "number"},
      {forged(kHead, "0", with("public key", "private key")), "there is no step 'private key'"},
      {forged(kHead, "0", with("public key", "\x1b[2Jkey")), "there is no step '?[2Jkey'"},
      {forged(kHead, "0", with("public key", std::string(200, 'k'))), std::string(40, 'k') + "...'"},
      {forged(kHead, "0", with("\tpublic\t", "\tencrypted\t")), "described otherwise"},
      {forged(kHead, "0", with("the sender's public key", "nothing of interest")), "described otherwise"},
      {forged(kHead, "0", with("\t0\t", "\t4294967296\t")), "not a number"},
      {forged(kHead, "0", with("\t8\t", "\t18446744073709551616\t")), "not a number"},
      {forged(kHead, "0", with("\t8\t", "\t08\t")), "differs from what a ledger would say"},
      {forged(kHead, "0", with("\t8\t", "\t 8\t")), "not a number"},
      {forged(kHead, "0", with("\t-\t", "\t3\t")), "shape"},
      {forged(kHead, "0", with("\t-\t", "\t3x\t")), "shape"},
      {forged(kHead, "0", with("\t-\t", "\tx3\t")), "shape"},
      {forged(kHead, "0", with("\t-\t", "\t3x4x5\t")), "shape"},
      {forged(kHead, "0", with("\t-\t", "\t0x0\t")), "differs from what a ledger would say"},
      {forged(kHead, "0", with("54a670d0", "54A670D0")), "differs from what a ledger would say"},
      {forged(kHead, "0", with("54a670d0", "154a670d0")), "not a number"},
      {forged(kHead, "0", with("54a670d0", "")), "not a number"},
      {forged(kHead, "0", with("\tpublic\t", "\t")), "9 fields"},
      {forged(kHead, "0", kKey + "\tmore"), "11 fields"},
      {forged(kHead, "end", kKey), "closing line"},
  };
  for (const auto& [text, why] : cases) EXPECT_THAT(refusal(text), AllOf(HasSubstr("line 2: "), HasSubstr(why)));
}

TEST_F(LedgerRead, RefusesForgedHeads) {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string head = kHead;
    return forged(head.replace(head.find(from), from.size(), to), "0", kKey);
  };
  for (const std::string& text :
       {with("\tA\t", "\t\t"), with("\tA\t", "\t\x1b[2J\t"), with("\tA\t", "\t" + std::string(65, 'A') + "\t"),
        with("\tparty\t", "\tname\t"), with("\tsession\t-", "\tsession\t"), with("2026-11", "2026-13"),
        with("11-15", "11-31"), with("2026", "0026"), with("14:30", "24:30"), with("14:30", "14-30"), with("Z", ""),
        with("Z", "+"), with("started", "started\tagain"), with("\tA\t", "\t")}) {
    const std::string message = refusal(text);
    EXPECT_THAT(message, AllOf(HasSubstr("line 1: "), Not(HasSubstr("\x1b"))));
  }
}

TEST_F(LedgerRead, RefusesBytesThatCannotBeCounted) {
  LedgerLines lines;
  const Message large{protocol::steps::kPublicKey, 0, std::numeric_limits<std::uint64_t>::max()};
  std::string text = lines.head(head_of("A")) + "\n";
  text += lines.message(Direction::kSent, {large, 0}) + "\n";
  EXPECT_EQ(read(text).sent.traffic.bytes, large.size);
  EXPECT_THROW((void)lines.message(Direction::kSent, {large, 0}), InvalidArgument);
  text += "1\tsent\tpublic key\t0\t-\t1\tpublic\tthe sender's public key\t00000000\t" + std::string(64, '0') + "\n";
  EXPECT_THAT(refusal(text), AllOf(HasSubstr("line 3"), HasSubstr("more bytes than can be counted")));
}

TEST(LedgerTime, IsReadAsItIsWritten) {
  const std::chrono::sys_seconds time = head_of("A").started;
  EXPECT_EQ(time_of(time_text(time)), time);
  EXPECT_EQ(time_of("2028-02-29T23:59:59Z").has_value(), true);
  for (const char* bad :
       {"", "2026-11-15T14:30:05", "2026-11-15 14:30:05Z", "2026-11-15T14:30:05z", "2026-11-31T14:30:05Z",
        "2026-13-15T14:30:05Z", "2026-11-15T24:00:00Z", "2026-11-15T14:60:05Z", "2026-11-15T14:30:60Z",
        "+026-11-15T14:30:05Z", "2026-1x-15T14:30:05Z", "2026-11-15T14:30:05Z ", "2027-02-29T00:00:00Z"}) {
    EXPECT_EQ(time_of(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace blindfl::net::ledger_file_test
