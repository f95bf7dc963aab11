// Random OTs of a session: both parties' pools fit, are made in whole tiles, and never come back.

#include "blindfl/protocol/session/ot_pools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "blindfl/ot/setup.h"
#include "blindfl/protocol/session/steps.h"
#include "mpc/shared_fixture.h"

namespace blindfl::mpc::ot_pools_test {
namespace {

using protocol::OtCount;
using protocol::OtPools;

struct Batches {
  ot::SenderBatch sent;
  ot::ReceiverBatch received;
};

OtCount as_party(const Session& session, std::uint64_t a_sends, std::uint64_t b_sends) {
  return session.party() == Party::kA ? OtCount{a_sends, b_sends} : OtCount{b_sends, a_sends};
}

Batches taken(Session& session, std::uint64_t a_sends, std::uint64_t b_sends) {
  OtPools& pools = session.ots();
  const OtCount count = as_party(session, a_sends, b_sends);
  pools.reserve(count);
  return {pools.sender().take(count.sending), pools.receiver().take(count.receiving)};
}

void expect_to_fit(const ot::SenderBatch& sent, const ot::ReceiverBatch& received) {
  ASSERT_EQ(sent.size(), received.size());
  std::size_t ones = 0;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const bool choice = (received.choices[i / 64] >> (i % 64) & 1) != 0;
    const ot::Block& pad = choice ? sent.one[i] : sent.zero[i];
    const ot::Block& other = choice ? sent.zero[i] : sent.one[i];
    EXPECT_TRUE(pad.low == received.pads[i].low && pad.high == received.pads[i].high);
    EXPECT_FALSE(other.low == received.pads[i].low);
    ones += choice ? 1 : 0;
  }
  EXPECT_GT(ones, sent.size() / 4);
  EXPECT_LT(ones, 3 * sent.size() / 4);
}

TEST(OtPoolsOfASession, FitBothWays) {
  SharedParties parties;
  for (const auto& sends : {std::pair{100, 5000}, {3000, 200}, {2048, 0}}) {
    const auto [a, b] = parties.run([&](Session& s) { return taken(s, sends.first, sends.second); });
    expect_to_fit(a.sent, b.received);
    if (sends.second > 0) expect_to_fit(b.sent, a.received);
  }
}

TEST(OtPoolsOfASession, ComeInWholeTilesOfStatedSize) {
  SharedParties parties;
  parties.run([](Session& s) { (void)taken(s, 2049, 1); });
  const auto& sent = parties.parties().recording(Party::kB).sent();
  EXPECT_EQ(sent.at(protocol::steps::kObliviousTiles), (net::Traffic{1, 2 * OtPools::tile_bytes()}));
  EXPECT_EQ(sent.at(protocol::steps::kObliviousHello),
            (net::Traffic{1, ot::kSenderHelloBytes + ot::kReceiverHelloBytes}));
  EXPECT_EQ(sent.at(protocol::steps::kObliviousTrees), (net::Traffic{1, ot::kTreesMessageBytes}));
  EXPECT_EQ(parties.parties().recording(Party::kA).sent().at(protocol::steps::kObliviousTiles),
            (net::Traffic{1, OtPools::tile_bytes()}));
  // What is left serves: nothing travels.
  parties.run([](Session& s) { (void)taken(s, 2047, 2047); });
  EXPECT_EQ(sent.at(protocol::steps::kObliviousTiles).messages, 1U);
}

TEST(OtPoolsOfASession, ArePreparedWithoutAMessage) {
  SharedParties parties;
  const auto all = [](Session& s) {
    s.ots().reserve(as_party(s, 4096, 4096));
    int tiles = 0;
    while (s.ots().prepare()) ++tiles;
    EXPECT_EQ(tiles, 4) << "two that arrived, two to send next";
    EXPECT_EQ(s.ots().ready().sending, 4096U);
    EXPECT_EQ(s.ots().ready().receiving, 4096U) << "the peer does not know of more yet";
    return taken(s, 8000, 6000);
  };
  const auto [a, b] = parties.run(all);
  expect_to_fit(a.sent, b.received);
  expect_to_fit(b.sent, a.received);
}

TEST(OtPoolsOfASession, ThatWereDroppedDoNotComeBack) {
  SharedParties parties;
  const auto twice = [](Session& s) {
    Batches first = taken(s, 64, 64);
    s.drop_ots();
    return std::pair(std::move(first), taken(s, 64, 64));
  };
  const auto [a, b] = parties.run(twice);
  expect_to_fit(a.second.sent, b.second.received);
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_NE(a.first.sent.zero[i].low, a.second.sent.zero[i].low);
    EXPECT_NE(a.first.sent.zero[i].low, a.second.sent.one[i].low);
  }
  const auto hellos = parties.payloads(Party::kA, protocol::steps::kObliviousHello);
  ASSERT_EQ(hellos.size(), 2U);
  EXPECT_FALSE(std::equal(hellos[0].begin(), hellos[0].begin() + 16, hellos[1].begin())) << "another id";
}

TEST(OtPoolsOfASession, OfAPeerThatTookMoreAreAnError) {
  SharedParties parties;
  parties.run([](Session& s) { (void)taken(s, 100, 100); });
  // A believes that it has used up more than B does.
  EXPECT_THROW(parties.run(
                   [](Session& s) {
                     (void)s.ots().sender().take(1948);
                     (void)taken(s, 100, 100);
                   },
                   [](Session& s) {
                     (void)taken(s, 100, 100);
                     s.channel().send({steps::kChoices, 0, 0}, ByteView());
                   }),
               ProtocolError);
}

TEST(CoinsOfASession, AreThoseOfBothPartiesAndOfNoOtherPurpose) {
  SharedParties parties;
  const auto [a, b] = parties.run([](Session& s) {
    return std::vector{s.coin("one"), s.coin("two"), s.next_operand_coin(), s.next_operand_coin()};
  });
  EXPECT_EQ(a, b);
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(a[i], a[j]);
  }
  SharedParties others;
  EXPECT_NE(others.session(Party::kA).coin("one"), a[0]);
}

}  // namespace
}  // namespace blindfl::mpc::ot_pools_test
