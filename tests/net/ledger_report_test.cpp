#include "blindfl/net/ledger/ledger_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iomanip>
#include <sstream>
#include <string>

#include "net/ledger_fixture.h"
#include "testing/steps.h"

namespace blindfl::net::ledger_report_test {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

class LedgerReport : public LedgerPair {
 protected:
  LedgerReport() {
    exchange();
    close();
    ledger_a_ = read_ledger(path_a_, testing::all_steps());
    ledger_b_ = read_ledger(path_b_, testing::all_steps());
    ledger_a_.name = "a.ledger";
  }

  static std::string audit_text(const LedgerFile& ledger) {
    std::ostringstream out;
    // What a caller did to the stream before does not matter.
    out << std::hex << std::setfill('*');
    print_audit(out, ledger);
    return out.str();
  }
  static std::string comparison_text(const LedgerFile& first, const LedgerFile& second) {
    std::ostringstream out;
    print_comparison(out, compare(first, second));
    return out.str();
  }

  LedgerFile ledger_a_;
  LedgerFile ledger_b_;
};

TEST_F(LedgerReport, ShowsWhatCrossedTheLink) {
  EXPECT_EQ(audit_text(ledger_a_),
            R"(a.ledger: party A, session 'golden', started 2026-11-15T14:30:05Z
Complete: it has its closing line, and all hashes are right.

                                                     sent                  received
step                protection   messages           bytes  messages           bytes
public key          public              1               8         1               7
forward operand     encrypted           2              14         0               0
output share        share               0               0         1               0
all                                     3              22         2               7

What they contain, and what they reveal to their receiver:
  public key (public)
    contains  the sender's public key
    reveals   nothing
  forward operand (encrypted)
    contains  the sender's share of the receiver's weights, encrypted under the sender's key
    reveals   the layer's shape
  output share (share)
    contains  A's share of Z, rounded
    reveals   Z, rounded, to B

The chains end with (the peer's ledger has the same two, the other way round):
  sent      841ad1b93f944d24c93a46706cbf47fa775d6c37581360baf7cdb2e845345f6b  after 3 messages
  received  97b442d7ef26496dea783b7e16446e809f3375b7f4cc6d0ecb72cf49ac428cc7  after 2 messages
)");
}

TEST_F(LedgerReport, SaysThatALedgerIsNotComplete) {
  ledger_a_.closed = false;
  EXPECT_THAT(audit_text(ledger_a_), HasSubstr("NOT COMPLETE: it has no closing line."));
  ledger_a_.cut_within_line = true;
  EXPECT_THAT(audit_text(ledger_a_), HasSubstr("NOT COMPLETE: it ends within a line."));
}

TEST_F(LedgerReport, ShowsThatTwoLedgersAgree) {
  EXPECT_EQ(comparison_text(ledger_a_, ledger_b_),
            "A to B: 3 sent, 3 received, 3 alike from the first on.\n"
            "B to A: 2 sent, 2 received, 2 alike from the first on.\n"
            "The ledgers agree: each party received what the other sent, and nothing else.\n");
}

TEST_F(LedgerReport, ShowsTheFirstDifference) {
  ledger_b_.received.entries[1].checksum = 1;
  const std::string text = comparison_text(ledger_a_, ledger_b_);
  EXPECT_THAT(text, AllOf(HasSubstr("A to B: 3 sent, 3 received, 1 alike from the first on.\n"
                                    "  DIFFERENT, first at message 1: A sent 'forward operand' of layer 3, 62x2, 7 "
                                    "bytes, CRC-32C 8ea2095f; B received 'forward operand'"),
                          EndsWith("\nTHE LEDGERS DO NOT AGREE.\n")));
}

TEST_F(LedgerReport, ShowsThatOneLedgerIsShorter) {
  ledger_b_.received.entries.pop_back();
  ledger_b_.closed = false;
  const std::string text = comparison_text(ledger_a_, ledger_b_);
  EXPECT_THAT(text, AllOf(HasSubstr("  B's ledger, which has no closing line, lacks the last 1 that A sent: "),
                          EndsWith("\nThe ledgers agree as far as both go, but one is shorter.\n")));
}

TEST_F(LedgerReport, ShowsThatLedgersDoNotBelongTogether) {
  EXPECT_THAT(comparison_text(ledger_a_, ledger_a_),
              AllOf(HasSubstr("These do not belong together: both ledgers are party A's"), Not(HasSubstr("DIFFERENT")),
                    Not(HasSubstr("alike"))));
}

}  // namespace
}  // namespace blindfl::net::ledger_report_test
