#include "blindfl/mpc/bit_to_ring.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>

#include "blindfl/base/error.h"
#include "blindfl/base/random.h"
#include "mpc/dealt_pools.h"

namespace blindfl::mpc::bit_to_ring_test {
namespace {

template <class Ring>
class AnyRing : public ::testing::Test {
 protected:
  DealtDirection pools_{DealtDirection::draw_leaves()};
};
using Rings = ::testing::Types<std::uint64_t, UInt128>;
TYPED_TEST_SUITE(AnyRing, Rings);

TYPED_TEST(AnyRing, SharesAddUpToTheBits) {
  using Ring = TypeParam;
  Random random;
  for (const std::size_t count : {1, 4, 64, 777}) {
    this->pools_.extend_to(count);
    const std::uint64_t before = this->pools_.sender.position();
    BitToRingSender sender(count, this->pools_.sender);
    BitToRingReceiver receiver(count, this->pools_.receiver);
    BitShares mine(count);
    BitShares theirs(count);
    random.fill_integers(mine.words());
    random.fill_integers(theirs.words());
    mine.clear_tail();
    theirs.clear_tail();
    const Bytes choices = receiver.choose(theirs);
    const auto sent = sender.template send<Ring>(choices, mine);
    const auto shares = receiver.template finish<Ring>(sent.message);
    for (std::size_t i = 0; i < count; ++i) {
      const Ring sum = sent.shares[i] + shares[i];
      ASSERT_TRUE(sum == static_cast<Ring>(mine.bit(i) != theirs.bit(i) ? 1 : 0)) << i;
    }
    const Cost cost = bit_to_ring_cost<Ring>(count);
    EXPECT_EQ(choices.size(), cost.receiver_bytes);
    EXPECT_EQ(sent.message.size(), cost.sender_bytes);
    EXPECT_EQ(this->pools_.sender.position() - before, cost.sender_ots);
  }
}

// The same bits every time: choices and corrections are uniform, each half of a number by itself.
TYPED_TEST(AnyRing, MessagesTellNothing) {
  using Ring = TypeParam;
  constexpr std::size_t kCount = 2048;
  this->pools_.extend_to(2 * kCount);
  for (const bool set : {false, true}) {
    BitToRingSender sender(kCount, this->pools_.sender);
    BitToRingReceiver receiver(kCount, this->pools_.receiver);
    const BitShares bits = set ? BitShares(kCount).negated() : BitShares(kCount);
    const Bytes choices = receiver.choose(bits);
    const Bytes message = sender.template send<Ring>(choices, bits).message;
    for (const Bytes& sent : {Bytes(choices.begin() + ot::MaterialTag::kBytes, choices.end()), message}) {
      std::size_t ones = 0;
      for (const std::byte byte : sent)
        ones += static_cast<std::size_t>(std::popcount(std::to_integer<unsigned>(byte)));
      const double all = 8.0 * static_cast<double>(sent.size());
      EXPECT_NEAR(static_cast<double>(ones), all / 2, 6 * 0.5 * std::sqrt(all));
    }
    std::set<std::uint64_t> differences;
    for (BufferSource in(message); in.remaining() > 0;) {
      const std::uint64_t low = in.read_u64();
      differences.insert(sizeof(Ring) == 8 ? low : in.read_u64() - low);
    }
    EXPECT_EQ(differences.size(), kCount);
  }
}

TYPED_TEST(AnyRing, EverythingWorksOnce) {
  using Ring = TypeParam;
  this->pools_.extend_to(5);
  BitToRingSender sender(5, this->pools_.sender);
  BitToRingReceiver receiver(5, this->pools_.receiver);
  EXPECT_THROW((void)receiver.template finish<Ring>(Bytes(5 * sizeof(Ring))), InvalidArgument);
  EXPECT_THROW((void)receiver.choose(BitShares(6)), InvalidArgument);
  const Bytes choices = receiver.choose(BitShares(5));
  EXPECT_THROW((void)receiver.choose(BitShares(5)), InvalidArgument);
  for (std::size_t at = 0; at < choices.size(); ++at) {
    Bytes bad = choices;
    bad[at] ^= std::byte{0x20};  // of the tag, or beyond the last bit
    EXPECT_THROW((void)sender.template send<Ring>(bad, BitShares(5)), ProtocolError);
    EXPECT_THROW((void)sender.template send<Ring>(ByteView(choices).first(at), BitShares(5)), ProtocolError);
  }
  EXPECT_THROW((void)sender.template send<Ring>(choices, BitShares(4)), InvalidArgument);
  const auto sent = sender.template send<Ring>(choices, BitShares(5));
  EXPECT_THROW((void)sender.template send<Ring>(choices, BitShares(5)), InvalidArgument);
  for (std::size_t size = 0; size < sent.message.size(); ++size) {
    EXPECT_THROW((void)receiver.template finish<Ring>(ByteView(sent.message).first(size)), ProtocolError);
  }
  (void)receiver.template finish<Ring>(sent.message);
  EXPECT_THROW((void)receiver.template finish<Ring>(sent.message), InvalidArgument);
  static_assert(!std::is_copy_constructible_v<BitToRingSender> && !std::is_copy_constructible_v<BitToRingReceiver>);
}

}  // namespace
}  // namespace blindfl::mpc::bit_to_ring_test
