#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "blindfl/app/commands/run.h"
#include "blindfl/net/ledger/ledger.h"
#include "blindfl/net/memory_channel.h"
#include "testing/scratch_folder.h"
#include "testing/steps.h"

namespace blindfl::app::audit_test {
namespace {

using ::testing::HasSubstr;

class Audit : public ::testing::Test {
 protected:
  int audit(const std::vector<std::string>& options) {
    std::vector<std::string> args{"audit"};
    args.insert(args.end(), options.begin(), options.end());
    out_.str({});
    err_.str({});
    return run(args, out_, err_);
  }
  /// Both parties' ledgers of one message.
  void write_ledgers(const std::string& a, const std::string& b, std::uint32_t layer,
                     const std::string& session = "run") {
    const auto [first, second] = net::make_memory_channels();
    first->write_ledger(std::make_unique<net::Ledger>(folder_ / a, net::LedgerHead{"A", session}));
    second->write_ledger(std::make_unique<net::Ledger>(folder_ / b, net::LedgerHead{"B", session}));
    const net::Message message{protocol::steps::kOutputShare, layer, 3};
    first->send(message, Bytes(3));
    (void)second->receive(message);
    first->close_ledger();
    second->close_ledger();
  }

  testing::ScratchFolder folder_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(Audit, ShowsAndComparesLedgers) {
  write_ledgers("a", "b", 1);
  EXPECT_EQ(audit({"--ledger", (folder_ / "a").string()}), kDone) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("output share"));
  EXPECT_EQ(audit({"--ledger", (folder_ / "a").string(), "--peer-ledger", (folder_ / "b").string()}), kDone);
}

TEST_F(Audit, SaysThatLedgersAreOfTwoRunsInsteadOfComparingThem) {
  write_ledgers("a", "b", 1);
  write_ledgers("a2", "b2", 2, "another");
  EXPECT_EQ(audit({"--ledger", (folder_ / "a").string(), "--peer-ledger", (folder_ / "b2").string()}), kFailed);
  EXPECT_THAT(err_.str(), HasSubstr("nothing was compared: the two ledgers are of different runs"));
  EXPECT_THAT(err_.str(), ::testing::AllOf(HasSubstr("'run'"), HasSubstr("'another'")));
  EXPECT_THAT(out_.str(), ::testing::Not(HasSubstr("DIFFERENT")));
}

TEST_F(Audit, FailsWhereLedgersContradictEachOtherOrAreNone) {
  write_ledgers("a", "b", 1);
  write_ledgers("a2", "b2", 2);
  EXPECT_EQ(audit({"--ledger", (folder_ / "a").string(), "--peer-ledger", (folder_ / "b2").string()}), kFailed);
  EXPECT_THAT(err_.str(), HasSubstr("contradict"));
  EXPECT_EQ(audit({"--ledger", folder_.write("text", "not a ledger\n").string()}), kFailed);
  EXPECT_EQ(audit({"--ledger", (folder_ / "missing").string()}), kFailed);
  EXPECT_EQ(audit({}), kWrongUsage);
}

}  // namespace
}  // namespace blindfl::app::audit_test
