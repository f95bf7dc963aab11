#include "blindfl/protocol/session/room_lift.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "blindfl/base/error.h"
#include "blindfl/ot/ring_and.h"
#include "blindfl/protocol/session/steps.h"
#include "mpc/dealt_pools.h"
#include "mpc/shared_fixture.h"

namespace blindfl::mpc::room_lift_test {
namespace {

using protocol::lift_with_room;
using protocol::LiftedShare;
using protocol::room_lift_cost;
using protocol::RoomLift;
using protocol::steps::kLiftChoices;
using protocol::steps::kLiftWords;

constexpr std::uint32_t kLayer = 7;

/// Of a signed number.
UInt128 in_ring(Int128 secret, int bits) {
  return low_bits(static_cast<UInt128>(secret), bits);
}

SharedPair shares_of(std::span<const Int128> secrets, std::span<const UInt128> at_a, int ring) {
  SharedPair pair{ShareMatrix(secrets.size(), 1, 3, ring), ShareMatrix(secrets.size(), 1, 3, ring)};
  for (std::size_t i = 0; i < secrets.size(); ++i) {
    pair.a.values()[i] = at_a[i];
    pair.b.values()[i] = low_bits(static_cast<UInt128>(secrets[i]) - at_a[i], ring);
  }
  return pair;
}

void expect_lifted(const SharedPair& lifted, std::span<const Int128> secrets, int to) {
  const ShareMatrix opened = open(lifted.a, lifted.b);
  ASSERT_EQ(opened.ring_bits(), to);
  ASSERT_EQ(opened.scale(), 3);
  for (std::size_t i = 0; i < secrets.size(); ++i) {
    ASSERT_TRUE(opened.values()[i] == in_ring(secrets[i], to)) << "value " << i << " to " << to << " bits";
  }
}

class LiftWithRoom : public ::testing::Test {
 protected:
  SharedPair lift(const SharedPair& pair, int to) {
    return parties_.shares([&](Session& s) { return lift_with_room(s, kLayer, pair.of(s.party()), to); });
  }
  SharedParties parties_;
};

// Every secret with room, under every pair of shares.
TEST_F(LiftWithRoom, IsExactForAllSharesOfSmallRings) {
  for (const int ring : {2, 3, 4, 7}) {
    std::vector<Int128> secrets;
    std::vector<UInt128> at_a;
    const Int128 room = Int128{1} << (ring - 2);
    for (Int128 secret = -room; secret < room; ++secret) {
      for (UInt128 share = 0; share < UInt128{1} << ring; ++share) {
        secrets.push_back(secret);
        at_a.push_back(share);
      }
    }
    for (const int to : {ring + 1, ring + 8, 64, 128})
      expect_lifted(lift(shares_of(secrets, at_a, ring), to), secrets, to);
  }
}

TEST_F(LiftWithRoom, IsExactAtTheEdgesAndInBetween) {
  Random random;
  for (const int ring : {8, 20, 33, 63, 64, 65, 100, 126, 127}) {
    const Int128 room = Int128{1} << (ring - 2);
    std::vector<Int128> secrets;
    std::vector<UInt128> at_a;
    const UInt128 whole = ring == 128 ? 0 : UInt128{1} << ring;
    for (const Int128 secret : {-room, -room + 1, Int128{-1}, Int128{0}, Int128{1}, room - 1}) {
      for (const UInt128 share :
           {UInt128{0}, UInt128{1}, whole / 4, whole / 2 - 1, whole / 2, whole / 4 * 3, whole - 1}) {
        secrets.push_back(secret);
        at_a.push_back(share);
      }
    }
    for (int i = 0; i < 2000; ++i) {
      std::array<UInt128, 2> drawn{};
      random.fill(std::as_writable_bytes(std::span(drawn)));
      secrets.push_back(signed_low_bits(drawn[0], ring - 1));
      at_a.push_back(low_bits(drawn[1], ring));
    }
    for (const int to : {ring + 1, (ring + 129) / 2, 128}) {
      expect_lifted(lift(shares_of(secrets, at_a, ring), to), secrets, to);
    }
  }
}

TEST_F(LiftWithRoom, SeveralMatricesTravelTogetherAndCostWhatIsSaid) {
  const SharedPair first = shared(5, 7, normal_values(35, 2, 1), 20, 40);
  const SharedPair second = shared(1, 1, normal_values(1, 2, 2), 10, 30);
  const SharedPair third = shared(9, 100, normal_values(900, 2, 3), 30, 97);
  const std::vector<RoomLift> lifts{{35, 40, 128}, {1, 30, 31}, {900, 97, 100}};
  const PartyCost cost = room_lift_cost(lifts);
  parties_.run([&](Session& s) { reserve(s, cost); });
  parties_.start_counting();
  const auto [a, b] = parties_.run([&](Session& s) {
    const std::vector<LiftedShare> shares{
        {first.of(s.party()), 128}, {second.of(s.party()), 31}, {third.of(s.party()), 100}};
    return lift_with_room(s, kLayer, shares);
  });
  EXPECT_EQ(parties_.counted(), SharedParties::on_the_wire(cost));
  EXPECT_EQ(decode_ring(open(a[0], b[0])), first.reals());
  EXPECT_EQ(decode_ring(open(a[1], b[1])), second.reals());
  EXPECT_EQ(decode_ring(open(a[2], b[2])), third.reals());
  // 16 bytes of tag, a bit for each value that the peer sends a word for, and these words.
  EXPECT_EQ(cost, (PartyCost{.a_bytes = 16 + (18 + 1 + 450 + 7) / 8 + 17 * 11 + 450,
                             .b_bytes = 16 + (17 + 450 + 7) / 8 + 18 * 11 + 1 + 450,
                             .flights = 2,
                             .a_ots = 17 + 450,
                             .b_ots = 18 + 1 + 450}));
}

// The same shares, again and again: nothing on the wire, and no share of the result, is the same again.
TEST_F(LiftWithRoom, TellsNothing) {
  const std::vector<Int128> secrets(4096, 5);
  const std::vector<UInt128> at_a(4096, 3);
  const SharedPair pair = shares_of(secrets, at_a, 40);
  const SharedPair lifted = lift(pair, 128);
  const SharedPair again = lift(pair, 128);
  EXPECT_NE(lifted.a, again.a);
  for (const Party party : {Party::kA, Party::kB}) {
    for (const net::Step step : {net::Step(kLiftChoices), net::Step(kLiftWords)}) {
      const std::vector<Bytes> sent = parties_.payloads(party, step);
      ASSERT_EQ(sent.size(), 2U);
      EXPECT_NE(sent[0], sent[1]);
      std::size_t ones = 0;
      const std::size_t from = step == net::Step(kLiftChoices) ? ot::MaterialTag::kBytes : 0;
      for (std::size_t i = from; i < sent[0].size(); ++i) {
        ones += static_cast<std::size_t>(std::popcount(std::to_integer<unsigned>(sent[0][i])));
      }
      const double all = 8.0 * static_cast<double>(sent[0].size() - from);
      EXPECT_NEAR(static_cast<double>(ones), all / 2, 6 * 0.5 * std::sqrt(all));
    }
    // Bits above the old ring are uniform.
    double sum = 0;
    for (const UInt128 value : lifted.of(party).values()) sum += std::ldexp(static_cast<double>(value >> 64), -64);
    EXPECT_NEAR(sum / 4096, 0.5, 6 * 0.2887 / 64);
  }
}

TEST_F(LiftWithRoom, RefusesWhatItCannotLift) {
  const auto at = [&](std::size_t rows, int ring, int to) {
    return parties_.run([&](Session& s) {
      EXPECT_THROW((void)lift_with_room(s, kLayer, ShareMatrix(rows, 1, 0, ring), to), InvalidArgument);
    });
  };
  at(0, 40, 128);
  at(1, 1, 128);
  at(1, 128, 128);
  at(1, 40, 40);
  at(1, 40, 129);
  EXPECT_THROW((void)room_lift_cost(RoomLift{5, 40, 40}), InvalidArgument);
}

// One party took a random OT more, each way: said before anything is opened.
TEST_F(LiftWithRoom, OfAPartyOutOfStepIsRefused) {
  const SharedPair pair = shared(2, 2, normal_values(4, 1, 4), 20, 40);
  parties_.run([](Session& s) { s.ots().reserve({100, 100}); });
  const auto lift_after = [&](Session& s, std::size_t skipped) {
    (void)s.ots().sender().take(skipped);
    (void)s.ots().receiver().take(skipped);
    EXPECT_THROW((void)lift_with_room(s, kLayer, pair.of(s.party())), Error);
  };
  parties_.run([&](Session& s) { lift_after(s, 1); }, [&](Session& s) { lift_after(s, 0); });
  EXPECT_TRUE(parties_.payloads(Party::kB, kLiftWords).empty());
}

ot::RingAndSizes some_sizes() {
  return ot::RingAndSizes({{3, 12}, {2, 128}});
}

// Words of 88 bits: where both halves of a pad were the same, the low bits would be in the high ones, but for the
// secret.
TEST(RingAnd, WordsHaveNoBitsInCommonWithThemselves) {
  constexpr std::size_t kCount = 640;
  constexpr std::size_t kBytes = 11;
  DealtDirection pools{DealtDirection::draw_leaves()};
  pools.extend_to(kCount);
  const ot::RingAndSizes sizes({{kCount, 8 * kBytes}});
  ot::RingAndSender sender(sizes, pools.sender);
  ot::RingAndReceiver receiver(sizes, pools.receiver);
  const ot::BitWords bits(kCount / 64);
  const auto sent = sender.send(receiver.choose(bits), bits);
  const SecretVector<UInt128> received = receiver.finish(sent.message);
  const auto repeats = [](UInt128 number) {
    const auto difference = static_cast<std::uint32_t>(number >> 64) - static_cast<std::uint32_t>(number);
    return ((difference + 1) & 0xFFFFFF) <= 2;
  };
  for (std::size_t i = 0; i < kCount; ++i) {
    UInt128 word = 0;
    std::memcpy(&word, sent.message.data() + i * kBytes, kBytes);
    EXPECT_FALSE(repeats(word)) << i;
    EXPECT_FALSE(repeats(sent.shares[i])) << i;
    EXPECT_FALSE(repeats(received[i])) << i;
  }
}

// Local steps: what a peer can send instead.
TEST(RingAnd, RefusesOtherMessagesAndWorksOnce) {
  DealtDirection pools{DealtDirection::draw_leaves()};
  pools.extend_to(10);
  const ot::RingAndSizes sizes = some_sizes();
  EXPECT_EQ(sizes.word_bytes(), 3U * 2 + 2 * 16);
  ot::RingAndSender sender(sizes, pools.sender);
  ot::RingAndReceiver receiver(sizes, pools.receiver);
  const ot::BitWords mine{0b10110};
  const ot::BitWords theirs{0b11010};
  EXPECT_THROW((void)receiver.finish(Bytes(sizes.word_bytes())), InvalidArgument);
  EXPECT_THROW((void)receiver.choose({1, 2}), InvalidArgument);
  const Bytes choices = receiver.choose(theirs);
  EXPECT_THROW((void)receiver.choose(theirs), InvalidArgument);
  for (std::size_t at = 0; at < choices.size(); ++at) {
    Bytes bad = choices;
    bad[at] ^= std::byte{0x20};  // of the tag, or beyond the last bit
    EXPECT_THROW((void)sender.send(bad, mine), ProtocolError);
    EXPECT_THROW((void)sender.send(ByteView(choices).first(at), mine), ProtocolError);
  }
  EXPECT_THROW((void)sender.send(choices, {}), InvalidArgument);
  const auto sent = sender.send(choices, mine);
  EXPECT_THROW((void)sender.send(choices, mine), InvalidArgument);
  for (std::size_t size = 0; size < sent.message.size(); ++size) {
    EXPECT_THROW((void)receiver.finish(ByteView(sent.message).first(size)), ProtocolError);
  }
  for (const std::size_t word : {1, 3, 5}) {
    Bytes bad = sent.message;
    bad[word] ^= std::byte{0x10};  // the thirteenth bit of a word of twelve
    EXPECT_THROW((void)receiver.finish(bad), ProtocolError);
  }
  const SecretVector<UInt128> shares = receiver.finish(sent.message);
  for (std::size_t i = 0; i < 5; ++i) {
    const UInt128 both = low_bits(shares[i] + sent.shares[i], i < 3 ? 12 : 128);
    EXPECT_TRUE(both == ((mine[0] & theirs[0]) >> i & 1)) << i;
  }
  EXPECT_THROW((void)receiver.finish(sent.message), InvalidArgument);
  EXPECT_THROW(ot::RingAndSizes({{3, 0}}), InvalidArgument);
  EXPECT_THROW(ot::RingAndSizes({{3, 129}}), InvalidArgument);
  static_assert(!std::is_copy_constructible_v<ot::RingAndSender> && !std::is_copy_constructible_v<ot::RingAndReceiver>);
}

}  // namespace
}  // namespace blindfl::mpc::room_lift_test
