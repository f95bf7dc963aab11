#include "blindfl/train/resume_handshake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "testing/plain/plain_scheme.h"
#include "testing/steps.h"
#include "testing/thrown.h"
#include "testing/two_parties.h"

namespace blindfl::train::resume_handshake_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;

TEST(CommonStep, IsTheNewestThatBothHave) {
  EXPECT_EQ(common_step({"r", {30, 20, 0}}, {"r", {40, 20, 10}}), 20U);
  EXPECT_EQ(common_step({"r", {0}}, {"r", {0}}), 0U);
}

TEST(CommonStep, IsNoneWhereNothingIsLost) {
  EXPECT_EQ(common_step({}, {}), std::nullopt);
  EXPECT_EQ(common_step({"r", {0}}, {}), std::nullopt);
  EXPECT_EQ(common_step({"r", {}}, {"s", {0}}), std::nullopt);
}

TEST(CommonStep, RefusesToLoseSteps) {
  const std::string message = message_of<ConfigError>([] { (void)common_step({"r", {20}}, {}); });
  EXPECT_THAT(message, HasSubstr("run r up to step 20"));
  EXPECT_THAT(message, HasSubstr("at the peer no run"));
  EXPECT_THROW((void)common_step({"r", {20}}, {"r", {30}}), ConfigError);
  EXPECT_THROW((void)common_step({"r", {20}}, {"s", {20}}), ConfigError);
}

TEST(GoingBack, SaysWhatThePeerHasAndWhatIsSetAside) {
  const RunOffer mine{"r", {60, 50, 40, 20}};
  EXPECT_EQ(newer_than(mine, 60), 0U);
  EXPECT_EQ(newer_than(mine, 50), 1U);
  EXPECT_EQ(newer_than(mine, 20), 3U);
  EXPECT_EQ(
      words_of_going_back(mine, {"r", {20, 10}}, 20),
      "this party has checkpoints up to step 60, the peer up to step 20, and the newest that both have is of step "
      "20: going back sets 3 newer checkpoints of this party aside, in checkpoints/superseded");
}

TEST(GoingBack, BehindSeveralCheckpointsNeedsSomebodyWhoSaysSo) {
  const RunOffer mine{"r", {60, 50, 40, 20}};
  const RunOffer theirs{"r", {20, 10}};
  EXPECT_NO_THROW(confirm_going_back({}, mine, {"r", {50}}, 50)) << "one is what a kill may cost";
  EXPECT_THAT(message_of<ConfigError>([&] { confirm_going_back({}, mine, theirs, 20); }),
              ::testing::AllOf(HasSubstr("the peer up to step 20"), HasSubstr("ResumeOptions::go_back does that")));
  EXPECT_NO_THROW(confirm_going_back({.go_back = true}, mine, theirs, 20));
  std::string asked;
  const auto answer = [&](bool yes) {
    return ResumeOptions{.confirm = [&asked, yes](const std::string& question) {
      asked = question;
      return yes;
    }};
  };
  EXPECT_NO_THROW(confirm_going_back(answer(true), mine, theirs, 20));
  EXPECT_THAT(asked, HasSubstr("Go back?"));
  EXPECT_THROW(confirm_going_back(answer(false), mine, theirs, 20), ConfigError);
}

TEST(StopVotes, ReachTheOtherParty) {
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  const auto [at_a, at_b] =
      parties.run([](protocol::Session& s) { return exchange_votes(s, 8, {.stop = true}); },
                  [](protocol::Session& s) { return exchange_votes(s, 8, {.better = true, .enough = true}); });
  EXPECT_FALSE(at_a.stop);
  EXPECT_TRUE(at_a.better);
  EXPECT_TRUE(at_a.enough);
  EXPECT_TRUE(at_b.stop);
  EXPECT_FALSE(at_b.better);
}

TEST(StopVotes, OfAnotherStepAreRefused) {
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  EXPECT_THROW((void)parties.run([](protocol::Session& s) { return exchange_votes(s, 8, {}); },
                                 [](protocol::Session& s) { return exchange_votes(s, 16, {}); }),
               Error);
}

TEST(StopVotes, ThatNobodyUnderstandsAreRefused) {
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  EXPECT_THROW(
      (void)parties.run([](protocol::Session& s) { return exchange_votes(s, 8, {}); },
                        [](protocol::Session& s) {
                          s.channel().send({run::steps::kStopVote, 8, 8}, [](ByteSink& out) { out.write_u64(8); });
                          return StopVote{};
                        }),
      ProtocolError);
}

TEST(Offers, ReachTheOtherParty) {
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  const RunOffer of_a{"0123456789abcdef", {40, 20}};
  const auto [at_a, at_b] = parties.run([&](protocol::Session& s) { return exchange_offers(s, of_a); },
                                        [](protocol::Session& s) { return exchange_offers(s, {}); });
  EXPECT_EQ(at_b.run, of_a.run);
  EXPECT_THAT(at_b.steps, ElementsAre(40, 20));
  EXPECT_TRUE(at_a.run.empty());
  EXPECT_TRUE(at_a.steps.empty());
}

TEST(Offers, AreTheBytesThatTheWireFormatSays) {
  const Bytes bytes = write_to_bytes([](ByteSink& out) { write_offer({"cafe", {300, 2}}, out); });
  ASSERT_EQ(bytes.size(), 640U);
  Bytes expected(640);
  expected[0] = std::byte{1};
  std::ranges::copy(as_bytes("cafe"), expected.begin() + 8);
  expected[72] = std::byte{2};
  expected[80] = std::byte{44};
  expected[81] = std::byte{1};
  expected[88] = std::byte{2};
  EXPECT_EQ(bytes, expected);
}

TEST(Offers, ThatAreNoneAreRefused) {
  // Version, the name and what is behind it, the number of steps, a step beyond, what is behind all.
  for (const std::size_t place : {0U, 4U, 8U, 9U, 71U, 72U, 79U, 80U, 591U, 592U, 639U}) {
    const testing::PlainScheme scheme;
    testing::TwoParties parties(scheme);
    const auto spoilt = [&](protocol::Session& s) {
      Bytes bytes(640);
      bytes[0] = std::byte{1};
      bytes[place] = std::byte{0xEE};
      s.channel().send({run::steps::kRunOffer, 0, 640}, bytes);
      return RunOffer{};
    };
    EXPECT_THROW((void)parties.run([](protocol::Session& s) { return exchange_offers(s, {}); }, spoilt), ProtocolError)
        << place;
  }
}

}  // namespace
}  // namespace blindfl::train::resume_handshake_test
