#include "blindfl/net/ledger/ledger_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "net/ledger_fixture.h"
#include "testing/steps.h"

namespace blindfl::net::ledger_comparison_test {
namespace {

using ::testing::AllOf;
using testing::content_of;
using ::testing::HasSubstr;

class LedgersOfTwo : public LedgerPair {
 protected:
  LedgersOfTwo() { exchange(); }

  [[nodiscard]] LedgerComparison compared() {
    close();
    return compare(read_ledger(path_a_, testing::all_steps()), read_ledger(path_b_, testing::all_steps()));
  }
  /// A file with the first `lines` lines of another.
  [[nodiscard]] LedgerFile cut(const std::filesystem::path& path, std::size_t lines) const {
    auto kept = lines_of(content_of(path));
    kept.resize(lines);
    (void)folder_.write("cut", text_of_lines(kept));
    return read_ledger(folder_ / "cut", testing::all_steps());
  }
};

TEST_F(LedgersOfTwo, AgreeAfterAnHonestRun) {
  const LedgerComparison comparison = compared();
  EXPECT_TRUE(comparison.agree());
  EXPECT_TRUE(comparison.same());
  EXPECT_EQ(comparison.first_to_second.sender, "A");
  EXPECT_EQ(comparison.first_to_second.receiver, "B");
  EXPECT_EQ(comparison.first_to_second.sent, 3U);
  EXPECT_EQ(comparison.first_to_second.received, 3U);
  EXPECT_EQ(comparison.first_to_second.alike, 3U);
  EXPECT_EQ(comparison.second_to_first.sender, "B");
  EXPECT_EQ(comparison.second_to_first.alike, 2U);
}

TEST_F(LedgersOfTwo, DifferInTheShapeThatEachBelievedIn) {
  a_->send({protocol::steps::kForwardOperand, 3, 7, 62, 2}, as_bytes("operand"));
  (void)b_->receive({protocol::steps::kForwardOperand, 3, 7, 31, 4});
  pass(*a_, *b_, {protocol::steps::kForwardOperand, 3, 7, 62, 2}, "operand");
  const LedgerComparison comparison = compared();
  EXPECT_FALSE(comparison.agree());
  EXPECT_EQ(comparison.first_to_second.alike, 3U);
  EXPECT_THAT(comparison.first_to_second.difference,
              AllOf(HasSubstr("message 3: A sent 'forward operand' of layer 3, 62x2, 7 bytes, CRC-32C "),
                    HasSubstr("; B received 'forward operand' of layer 3, 31x4, 7 bytes, CRC-32C ")));
  EXPECT_EQ(comparison.second_to_first.difference, "");
}

TEST_F(LedgersOfTwo, DifferWhereOnePartyWroteSomethingElse) {
  close();
  const LedgerFile a = read_ledger(path_a_, testing::all_steps());
  // B's account of the same run, with another payload in the second message that it sent.
  {
    Ledger lying(folder_ / "lying", head_of("B"));
    const LedgerFile b = read_ledger(path_b_, testing::all_steps());
    for (const LedgerEntry& e : b.received.entries) lying.write(Direction::kReceived, e.message, e.checksum);
    lying.write(Direction::kSent, b.sent.entries[0].message, b.sent.entries[0].checksum);
    lying.write(Direction::kSent, b.sent.entries[1].message, 0x0badcafe);
  }
  const LedgerFile b = read_ledger(folder_ / "lying", testing::all_steps());
  for (const bool a_first : {true, false}) {
    const LedgerComparison comparison = a_first ? compare(a, b) : compare(b, a);
    EXPECT_FALSE(comparison.agree());
    const DirectionComparison& b_to_a = a_first ? comparison.second_to_first : comparison.first_to_second;
    const DirectionComparison& a_to_b = a_first ? comparison.first_to_second : comparison.second_to_first;
    EXPECT_EQ(b_to_a.difference,
              "message 1: B sent 'output share' of layer 4, 128x1, 0 bytes, CRC-32C 0badcafe; "
              "A received 'output share' of layer 4, 128x1, 0 bytes, CRC-32C 237b38ef");
    EXPECT_EQ(a_to_b.difference, "");
    EXPECT_EQ(a_to_b.alike, 3U);
  }
}

TEST_F(LedgersOfTwo, AgreeAsFarAsBothGoIfOnePartyWasKilled) {
  close();
  const LedgerFile a = read_ledger(path_a_, testing::all_steps());
  const LedgerFile b = cut(path_b_, 4);
  ASSERT_FALSE(b.closed);
  const LedgerComparison comparison = compare(a, b);
  EXPECT_TRUE(comparison.agree());
  EXPECT_FALSE(comparison.same());
  EXPECT_EQ(comparison.first_to_second.alike, 2U);
  EXPECT_EQ(comparison.first_to_second.shorter,
            "B's ledger, which has no closing line, lacks the last 1 that A sent: B was stopped before it wrote them "
            "down, or the file was cut");
  EXPECT_EQ(comparison.second_to_first.alike, 1U);
  EXPECT_THAT(comparison.second_to_first.shorter, HasSubstr("lacks the last 1 that A received"));
}

TEST_F(LedgersOfTwo, StillDifferInTheCommonPartIfOnePartyWasKilled) {
  a_->send({protocol::steps::kForwardOperand, 3, 7, 62, 2}, as_bytes("operand"));
  (void)b_->receive({protocol::steps::kForwardOperand, 3, 7, 31, 4});
  pass(*a_, *b_, {protocol::steps::kForwardOperand, 3, 7, 62, 2}, "operand");
  close();
  const LedgerComparison comparison = compare(read_ledger(path_a_, testing::all_steps()), cut(path_b_, 7));
  EXPECT_FALSE(comparison.agree());
  EXPECT_THAT(comparison.first_to_second.difference, HasSubstr("message 3"));
}

TEST_F(LedgersOfTwo, AgreeIfAMessageWasUnderWayWhenItsReceiverStopped) {
  a_->send({protocol::steps::kForwardOperand, 3, 7, 62, 2}, as_bytes("operand"));
  const LedgerComparison comparison = compared();
  EXPECT_TRUE(comparison.agree());
  EXPECT_EQ(comparison.first_to_second.shorter,
            "B's ledger lacks the last 1 that A sent: B stopped before they arrived");
}

TEST_F(LedgersOfTwo, DifferIfSomethingWasReceivedThatNobodySent) {
  close();
  LedgerFile b = read_ledger(path_b_, testing::all_steps());
  b.received.entries.push_back({{protocol::steps::kPublicKey, 0, 8}, 0xff});
  const LedgerComparison comparison = compare(read_ledger(path_a_, testing::all_steps()), b);
  EXPECT_FALSE(comparison.agree());
  EXPECT_EQ(comparison.first_to_second.difference,
            "message 3: B received 'public key' of layer 0, 8 bytes, CRC-32C 000000ff, and A's ledger, which is "
            "complete, does not have it as sent");
}

TEST_F(LedgersOfTwo, DoNotBelongTogetherIfTheyAreOnePartysOrOfTwoSessions) {
  close();
  const LedgerFile a = read_ledger(path_a_, testing::all_steps());
  LedgerFile b = read_ledger(path_b_, testing::all_steps());
  EXPECT_THAT(compare(a, a).strangers, HasSubstr("both ledgers are party A's"));
  EXPECT_FALSE(compare(a, a).agree());
  b.head.session = "another";
  EXPECT_THAT(compare(a, b).strangers,
              AllOf(HasSubstr("different runs"), HasSubstr("'golden'"), HasSubstr("'another'")));
  EXPECT_FALSE(compare(a, b).agree());
  b.head.session = "";
  EXPECT_TRUE(compare(a, b).same()) << "a session without a name may be any";
}

TEST(LedgersOfTwoSessions, AreToldByTheirFirstMessages) {
  const auto ledger = [](const char* party, std::uint32_t sent, std::uint32_t received) {
    LedgerFile file;
    file.head.party = party;
    const auto hello = [](std::uint32_t checksum) {
      return LedgerEntry{.message = {.step = protocol::steps::kHello}, .checksum = checksum};
    };
    file.sent.entries = {hello(sent)};
    file.received.entries = {hello(received)};
    return file;
  };
  EXPECT_EQ(compare(ledger("A", 1, 2), ledger("B", 2, 1)).strangers, "");
  EXPECT_THAT(compare(ledger("A", 1, 2), ledger("B", 4, 3)).strangers,
              AllOf(HasSubstr("different runs"), HasSubstr("first messages")));
  // One of them differs: that is a contradiction within a session.
  EXPECT_EQ(compare(ledger("A", 1, 2), ledger("B", 2, 3)).strangers, "");
}

}  // namespace
}  // namespace blindfl::net::ledger_comparison_test
