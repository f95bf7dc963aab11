// Comparisons that go wrong: messages that are cut, bits where none may be, calls in the wrong order, material twice.

#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "mpc/two_comparisons.h"

namespace blindfl::mpc::comparison_hostile_test {
namespace {

using Words = SecretVector<std::uint64_t>;

/// Runs a comparison; `tamper` sees each message before it is delivered, and may try others on its receiver.
template <class Tamper>
BitShares run_tampered(const ComparisonPlan& plan, const Words& x, const Words& y, const Tamper& tamper) {
  Random random;
  DealtPools pools;
  TwoComparisons two(plan, pools, random);
  (void)two.sender.start(x);
  Bytes message = two.receiver.start(y);
  for (bool to_sender = true; !message.empty(); to_sender = !to_sender) {
    Comparison& to = to_sender ? two.sender : two.receiver;
    tamper(to, message);
    message = to.next(message);
  }
  EXPECT_TRUE(two.sender.done());
  EXPECT_TRUE(two.receiver.done());
  return two.sender.take() ^ two.receiver.take();
}

TEST(ComparisonMessages, EveryTruncationIsAnErrorThatChangesNothing) {
  for (const int bits : {2, 3, 5, 6, 34, 64}) {
    const ComparisonPlan plan(bits, 5);
    const BitShares result =
        run_tampered(plan, Words(5), Words{0, 1, 2, 3, ~std::uint64_t{0}}, [](Comparison& to, const Bytes& message) {
          for (std::size_t size = 0; size < message.size(); ++size) {
            EXPECT_THROW((void)to.next(ByteView(message).first(size)), ProtocolError);
          }
          Bytes longer = message;
          longer.emplace_back();
          EXPECT_THROW((void)to.next(longer), ProtocolError);
        });
    EXPECT_FALSE(result.bit(4)) << bits;
    EXPECT_TRUE(result.bit(0)) << bits;
  }
}

// Five values: every plane, and tables of less than a byte, have bits beyond the last.
TEST(ComparisonMessages, BitsBeyondTheLastAreErrorsThatChangeNothing) {
  for (const int bits : {2, 3, 5, 6, 34, 38}) {
    const ComparisonPlan plan(bits, 5);
    std::size_t refused = 0;
    const BitShares result = run_tampered(plan, Words(5), Words(5), [&](Comparison& to, const Bytes& message) {
      const bool planes_only = refused == 0;  // the receiver's first message
      for (std::size_t at = planes_only ? ot::MaterialTag::kBytes : 0; at < message.size(); ++at) {
        Bytes bad = message;
        bad[at] |= std::byte{0x80};
        if (bad == message) continue;
        try {
          if (!planes_only) continue;
          (void)to.next(bad);
          ADD_FAILURE() << "accepted";
        } catch (const ProtocolError&) {
          ++refused;
        }
      }
      // The last plane of every message, or the last table of a comparison without levels.
      Bytes bad = message;
      bad.back() |= std::byte{0x80};
      const bool ends_in_bits = plan.blocks().size() > 1 || planes_only || plan.blocks()[0].bytes(5) * 8 != 5 * 16;
      if (bad != message && ends_in_bits && plan.bits() != 5) {
        EXPECT_THROW((void)to.next(bad), ProtocolError);
      }
    });
    EXPECT_EQ(refused, static_cast<std::size_t>(bits - 1));
    EXPECT_EQ(result, BitShares(5).negated());
  }
}

TEST(ComparisonMessages, AFlippedBitChangesResultsButNothingElse) {
  const ComparisonPlan plan(34, 64);
  std::size_t from = ot::MaterialTag::kBytes;  // of the first message
  const BitShares result = run_tampered(plan, Words(64), Words(64), [&](Comparison& /*to*/, Bytes& message) {
    for (std::size_t at = std::exchange(from, 0); at < message.size(); at += 3) message[at] ^= std::byte{0x41};
  });
  EXPECT_EQ(result.size(), 64U);
}

TEST(ComparisonMaterial, IsUsedOnce) {
  Random random;
  DealtPools pools;
  for (const int bits : {2, 32}) {  // without levels, and with
    const ComparisonPlan plan(bits, 10);
    ComparisonMaterial material = TwoComparisons::material(plan, Role::kSender, pools, random);
    (void)TwoComparisons::material(plan, Role::kReceiver, pools, random);
    EXPECT_FALSE(material.used());
    const Comparison first(std::move(material));
    EXPECT_TRUE(material.used());  // NOLINT(bugprone-use-after-move): the point
    EXPECT_THROW(Comparison second(std::move(material)), InvalidArgument);  // NOLINT(bugprone-use-after-move)
  }
  static_assert(!std::is_copy_constructible_v<ComparisonMaterial>);
}

TEST(ComparisonMaterial, TakesNothingFromPoolsThatHaveTooFew) {
  Random random;
  DealtPools pools;
  pools.extend_to({.sender_ots = 2048, .receiver_ots = 2048});
  const ComparisonPlan plan(32, 1000);
  EXPECT_THROW(ComparisonMaterial(plan, Role::kSender, pools.sent.sender, pools.received.receiver, random),
               InvalidArgument);
  EXPECT_THROW(ComparisonMaterial(plan, Role::kReceiver, pools.received.sender, pools.sent.receiver, random),
               InvalidArgument);
  EXPECT_EQ(pools.sent.sender.position(), 0U);
  EXPECT_EQ(pools.sent.receiver.position(), 0U);
}

// One party took one OT more than the other, or planned other numbers: said before any pad is used.
TEST(ComparisonMaterial, OfAnotherPlaceOrPlanIsAnError) {
  Random random;
  const ComparisonPlan plan(32, 4);
  for (const bool sent : {false, true}) {
    DealtPools pools;
    pools.extend_to({.sender_ots = 2000, .receiver_ots = 2000});
    Comparison sender(TwoComparisons::material(plan, Role::kSender, pools, random));
    if (sent) {
      (void)pools.sent.receiver.take(1);
    } else {
      (void)pools.received.sender.take(1);
    }
    Comparison receiver(TwoComparisons::material(plan, Role::kReceiver, pools, random));
    (void)sender.start(Words(4));
    EXPECT_THROW((void)sender.next(receiver.start(Words(4))), ProtocolError);
  }
  DealtPools pools;
  pools.extend_to({.sender_ots = 2000, .receiver_ots = 2000});
  Comparison sender(TwoComparisons::material(plan, Role::kSender, pools, random));
  Comparison receiver(TwoComparisons::material(ComparisonPlan(32, 5), Role::kReceiver, pools, random));
  (void)sender.start(Words(4));
  EXPECT_THROW((void)sender.next(receiver.start(Words(5))), ProtocolError);
}

TEST(Comparison, CallsInTheWrongOrderAreErrors) {
  Random random;
  DealtPools pools;
  TwoComparisons two(ComparisonPlan(32, 4), pools, random);
  EXPECT_THROW((void)two.sender.next({}), InvalidArgument);
  EXPECT_THROW((void)two.sender.take(), InvalidArgument);
  EXPECT_THROW((void)two.sender.start(Words(5)), InvalidArgument);
  (void)two.run(Words(4), Words(4));
  EXPECT_THROW((void)two.receiver.start(Words(4)), InvalidArgument);
  EXPECT_THROW((void)two.receiver.next({}), InvalidArgument);
  (void)two.receiver.take();
  EXPECT_THROW((void)two.receiver.take(), InvalidArgument);
}

TEST(ComparisonPlan, RefusesWhatItCannotCompare) {
  for (const int bits : {-1, 0, 1, 65}) EXPECT_THROW(ComparisonPlan(bits, 1), InvalidArgument);
  EXPECT_THROW(ComparisonPlan(32, 0), InvalidArgument);
}

}  // namespace
}  // namespace blindfl::mpc::comparison_hostile_test
