// Multiplexers: products, forward and once more; costs; steps out of order; messages that are cut.

#include "blindfl/mpc/multiplexer.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>

#include "blindfl/base/error.h"
#include "blindfl/base/random.h"
#include "mpc/dealt_pools.h"

namespace blindfl::mpc::multiplexer_test {
namespace {

BitShares random_bits(std::size_t size) {
  static Random random;
  BitShares bits(size);
  random.fill_integers(bits.words());
  bits.clear_tail();
  return bits;
}

template <class Ring>
SecretVector<Ring> random_values(std::size_t size) {
  static Random random;
  SecretVector<Ring> values(size);
  random.fill_integers(std::span(values));
  return values;
}

/// How many values the differences of the numbers' halves have: all of them, if both halves have pads of their own.
template <class Ring>
std::size_t different_halves(const Bytes& numbers) {
  std::set<std::uint64_t> differences;
  BufferSource in(numbers);
  while (in.remaining() > 0) {
    const std::uint64_t low = in.read_u64();
    differences.insert(sizeof(Ring) == 8 ? low : in.read_u64() - low);
  }
  return differences.size();
}

template <class Ring>
class AnyMultiplexer : public ::testing::Test {
 protected:
  using Values = SecretVector<Ring>;
  struct Two {
    Two(std::size_t count, bool with_again, DealtPools& pools)
        : first(material(count, with_again, Role::kSender, pools)),
          second(material(count, with_again, Role::kReceiver, pools)) {}
    Multiplexer<Ring> first;
    Multiplexer<Ring> second;
  };

  static MultiplexerMaterial material(std::size_t count, bool with_again, Role role, DealtPools& pools) {
    if (role == Role::kSender) pools.extend_to(Multiplexer<Ring>::cost(count));
    return {count, with_again, pools.sender_pool(role), pools.receiver_pool(role)};
  }
  static void expect_products(const BitShares& bits, const Values& x, const Values& y, const Values& a,
                              const Values& b) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Ring product = bits.bit(i) ? static_cast<Ring>(x[i] + y[i]) : Ring{0};
      ASSERT_TRUE(static_cast<Ring>(a[i] + b[i]) == product) << i;
    }
  }

  DealtPools pools_;
};

using Rings = ::testing::Types<std::uint64_t, UInt128>;
TYPED_TEST_SUITE(AnyMultiplexer, Rings);

TYPED_TEST(AnyMultiplexer, SharesAddUpToTheProductsTwice) {
  using Ring = TypeParam;
  for (const std::size_t count : {1, 5, 64, 1000}) {
    typename TestFixture::Two two(count, true, this->pools_);
    const BitShares bits = random_bits(count);
    const BitShares mine = random_bits(count);
    const auto x = random_values<Ring>(count);
    const auto y = random_values<Ring>(count);
    const Bytes chosen = two.first.choose(mine);
    const Bytes chosen_too = two.second.choose(bits ^ mine);
    const Bytes sent = two.first.forward(chosen_too, x);
    const Bytes sent_too = two.second.forward(chosen, y);
    this->expect_products(bits, x, y, two.first.finish(sent_too), two.second.finish(sent));
    const Cost cost = Multiplexer<Ring>::cost(count);
    EXPECT_EQ(chosen.size() + sent.size(), cost.sender_bytes);
    EXPECT_EQ(chosen_too.size() + sent_too.size(), cost.receiver_bytes);

    const auto dx = random_values<Ring>(count);
    const auto dy = random_values<Ring>(count);
    const Bytes again = two.first.again(dx);
    const Bytes again_too = two.second.again(dy);
    this->expect_products(bits, dx, dy, two.first.finish_again(again_too), two.second.finish_again(again));
    EXPECT_EQ(again.size(), Multiplexer<Ring>::cost_again(count).sender_bytes);
    EXPECT_EQ(again_too.size(), Multiplexer<Ring>::cost_again(count).receiver_bytes);
  }
  EXPECT_EQ(this->pools_.sent.sender.position(), 1070U);
  EXPECT_EQ(this->pools_.received.sender.position(), 1070U);
}

TYPED_TEST(AnyMultiplexer, ExtremeSharesAreRight) {
  using Ring = TypeParam;
  const Ring top = Ring{1} << (8 * sizeof(Ring) - 1);
  const std::vector<Ring> extremes = {0, 1, static_cast<Ring>(0) - 1, top, static_cast<Ring>(top - 1)};
  SecretVector<Ring> x;
  SecretVector<Ring> y;
  for (const Ring a : extremes) {
    for (const Ring b : extremes) {
      for (int bits = 0; bits < 4; ++bits) {
        x.push_back(a);
        y.push_back(b);
      }
    }
  }
  BitShares mine(x.size());
  BitShares theirs(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    mine.words()[i / 64] |= static_cast<std::uint64_t>(i & 1) << i % 64;
    theirs.words()[i / 64] |= static_cast<std::uint64_t>(i >> 1 & 1) << i % 64;
  }
  typename TestFixture::Two two(x.size(), false, this->pools_);
  const Bytes chosen = two.first.choose(mine);
  const Bytes chosen_too = two.second.choose(theirs);
  const Bytes sent = two.first.forward(chosen_too, x);
  const Bytes sent_too = two.second.forward(chosen, y);
  this->expect_products(mine ^ theirs, x, y, two.first.finish(sent_too), two.second.finish(sent));
}

TYPED_TEST(AnyMultiplexer, EveryStepWorksOnceAndInOrder) {
  using Ring = TypeParam;
  typename TestFixture::Two two(3, true, this->pools_);
  const SecretVector<Ring> values(3);
  const Bytes bits = two.second.choose(BitShares(3));
  const Bytes numbers(3 * sizeof(Ring));
  EXPECT_THROW((void)two.first.forward(bits, values), InvalidArgument);
  EXPECT_THROW((void)two.first.again(values), InvalidArgument);
  EXPECT_THROW((void)two.first.choose(BitShares(4)), InvalidArgument);
  (void)two.first.choose(BitShares(3));
  EXPECT_THROW((void)two.first.choose(BitShares(3)), InvalidArgument);
  EXPECT_THROW((void)two.first.forward(bits, SecretVector<Ring>(2)), InvalidArgument);
  (void)two.first.forward(bits, values);
  EXPECT_THROW((void)two.first.forward(bits, values), InvalidArgument);
  EXPECT_THROW((void)two.first.again(values), InvalidArgument);
  EXPECT_THROW((void)two.first.finish_again(numbers), InvalidArgument);
  (void)two.first.finish(numbers);
  EXPECT_THROW((void)two.first.finish(numbers), InvalidArgument);
  (void)two.first.again(values);
  EXPECT_THROW((void)two.first.again(values), InvalidArgument) << "a third pass would repeat pads";
  (void)two.first.finish_again(numbers);
  EXPECT_THROW((void)two.first.again(values), InvalidArgument);
  EXPECT_THROW((void)two.first.finish_again(numbers), InvalidArgument);
}

TYPED_TEST(AnyMultiplexer, ASecondPassNeedsMaterialForIt) {
  using Ring = TypeParam;
  typename TestFixture::Two two(3, false, this->pools_);
  (void)two.first.choose(BitShares(3));
  (void)two.first.forward(two.second.choose(BitShares(3)), SecretVector<Ring>(3));
  (void)two.first.finish(Bytes(3 * sizeof(Ring)));
  EXPECT_THROW((void)two.first.again(SecretVector<Ring>(3)), InvalidArgument);
}

TYPED_TEST(AnyMultiplexer, WrongLengthsAndBitsBeyondTheLastAreErrorsThatChangeNothing) {
  using Ring = TypeParam;
  typename TestFixture::Two two(5, true, this->pools_);
  const auto x = random_values<Ring>(5);
  const auto y = random_values<Ring>(5);
  const BitShares ones = BitShares(5).negated();
  const Bytes chosen = two.first.choose(ones);
  const Bytes chosen_too = two.second.choose(BitShares(5));
  for (std::size_t size = 0; size < chosen_too.size(); ++size) {
    EXPECT_THROW((void)two.first.forward(ByteView(chosen_too).first(size), x), ProtocolError);
    Bytes bad = chosen_too;
    bad[size] ^= std::byte{0x20};  // of the tag
    EXPECT_THROW((void)two.first.forward(bad, x), ProtocolError);
  }
  Bytes bad = chosen_too;
  bad.back() |= std::byte{0x20};
  EXPECT_THROW((void)two.first.forward(bad, x), ProtocolError);
  const Bytes sent = two.first.forward(chosen_too, x);
  const Bytes sent_too = two.second.forward(chosen, y);
  for (std::size_t size = 0; size < sent_too.size(); ++size) {
    EXPECT_THROW((void)two.first.finish(ByteView(sent_too).first(size)), ProtocolError);
  }
  this->expect_products(ones, x, y, two.first.finish(sent_too), two.second.finish(sent));
  const Bytes again = two.first.again(x);
  const Bytes again_too = two.second.again(y);
  EXPECT_THROW((void)two.first.finish_again(ByteView(again_too).first(1)), ProtocolError);
  this->expect_products(ones, x, y, two.first.finish_again(again_too), two.second.finish_again(again));
}

TYPED_TEST(AnyMultiplexer, MaterialIsUsedOnce) {
  using Ring = TypeParam;
  MultiplexerMaterial material = this->material(3, true, Role::kSender, this->pools_);
  const Multiplexer<Ring> first(std::move(material));
  EXPECT_TRUE(material.used());  // NOLINT(bugprone-use-after-move): the point
  EXPECT_THROW(Multiplexer<Ring> second(std::move(material)), InvalidArgument);  // NOLINT(bugprone-use-after-move)
  static_assert(!std::is_copy_constructible_v<MultiplexerMaterial>);
  EXPECT_THROW(MultiplexerMaterial(5000, false, this->pools_.sent.sender, this->pools_.received.receiver),
               InvalidArgument);
}

// The same bits and values both times: what travels is uniform, and so is the difference of the two passes.
TYPED_TEST(AnyMultiplexer, MessagesTellNothing) {
  using Ring = TypeParam;
  constexpr std::size_t kCount = 4096;
  typename TestFixture::Two two(kCount, true, this->pools_);
  const SecretVector<Ring> values(kCount, 42);
  const Bytes chosen = two.first.choose(BitShares(kCount));
  const Bytes chosen_too = two.second.choose(BitShares(kCount).negated());
  const Bytes sent = two.first.forward(chosen_too, values);
  (void)two.first.finish(two.second.forward(chosen, values));
  const Bytes again = two.first.again(values);
  Bytes difference = sent;
  for (std::size_t i = 0; i < sent.size(); ++i) difference[i] ^= again[i];
  for (const Bytes& message : {chosen, chosen_too, sent, again, difference}) {
    std::size_t ones = 0;
    for (const std::byte byte : message)
      ones += static_cast<std::size_t>(std::popcount(std::to_integer<unsigned>(byte)));
    const double bits = 8.0 * static_cast<double>(message.size());
    EXPECT_NEAR(static_cast<double>(ones), bits / 2, 6 * 0.5 * std::sqrt(bits));
  }
  // Nor does the upper half of a number follow from the lower one.
  for (const Bytes* message : {&sent, &again}) EXPECT_EQ(different_halves<Ring>(*message), kCount);
}

}  // namespace
}  // namespace blindfl::mpc::multiplexer_test
