#include "blindfl/mpc/row_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "blindfl/base/error.h"
#include "blindfl/mpc/row_factors.h"
#include "blindfl/protocol/layers/shared_top_options.h"
#include "mpc/dealt_pools.h"
#include "mpc/shared_fixture.h"
#include "testing/thrown.h"

namespace blindfl::mpc::row_weights_test {
namespace {

using ::testing::HasSubstr;

class RowFactors : public ::testing::Test {
 protected:
  DealtDirection pools_{DealtDirection::draw_leaves()};
};

TEST_F(RowFactors, SharesAddUpToTheProducts) {
  Random random;
  for (const int bits : {1, 7, 20, 32}) {
    constexpr std::size_t kCount = 301;
    const Cost cost = row_factor_cost(kCount, bits);
    pools_.extend_to(cost.sender_ots);
    const std::uint64_t before = pools_.sender.position();
    std::vector<UInt128> values(kCount);
    std::vector<std::uint32_t> factors(kCount);
    random.fill(std::as_writable_bytes(std::span(values)));
    random.fill_integers(std::span(factors));
    const std::uint32_t most = std::numeric_limits<std::uint32_t>::max() >> (32 - bits);
    for (std::uint32_t& factor : factors) factor &= most;
    factors[0] = 0;
    factors[1] = most;
    values[2] = 0;
    values[1] = ~UInt128{0};
    FactorSender sender(kCount, bits, pools_.sender);
    FactorReceiver receiver(kCount, bits, pools_.receiver);
    const Bytes choices = receiver.choose(factors);
    const auto sent = sender.send(choices, values);
    const auto shares = receiver.finish(sent.message);
    for (std::size_t i = 0; i < kCount; ++i) {
      ASSERT_TRUE(sent.shares[i] + shares[i] == values[i] * factors[i]) << bits << " bits, " << i;
    }
    EXPECT_EQ(choices.size(), cost.receiver_bytes);
    EXPECT_EQ(sent.message.size(), cost.sender_bytes);
    EXPECT_EQ(pools_.sender.position() - before, cost.sender_ots);
  }
}

// The same factors and values every time: choices, corrections and shares are uniform.
TEST_F(RowFactors, MessagesTellNothing) {
  constexpr std::size_t kCount = 256;
  constexpr int kBits = 8;
  pools_.extend_to(2 * kCount * kBits);
  for (const std::uint32_t factor : {0U, 255U}) {
    FactorSender sender(kCount, kBits, pools_.sender);
    FactorReceiver receiver(kCount, kBits, pools_.receiver);
    const Bytes choices = receiver.choose(std::vector<std::uint32_t>(kCount, factor));
    const Bytes message = sender.send(choices, std::vector<UInt128>(kCount, 1)).message;
    for (const Bytes& sent : {Bytes(choices.begin() + ot::MaterialTag::kBytes, choices.end()), message}) {
      std::size_t ones = 0;
      for (const std::byte byte : sent)
        ones += static_cast<std::size_t>(std::popcount(std::to_integer<unsigned>(byte)));
      const double all = 8.0 * static_cast<double>(sent.size());
      EXPECT_NEAR(static_cast<double>(ones), all / 2, 6 * 0.5 * std::sqrt(all));
    }
    std::set<std::uint64_t> words;
    for (BufferSource in(message); in.remaining() > 0;) words.insert(in.read_u64());
    EXPECT_EQ(words.size(), 2 * kCount * kBits);
  }
}

TEST_F(RowFactors, EverythingWorksOnceAndBadMessagesAreErrors) {
  constexpr std::size_t kCount = 3;
  constexpr int kBits = 3;
  pools_.extend_to(kCount * kBits);
  FactorSender sender(kCount, kBits, pools_.sender);
  FactorReceiver receiver(kCount, kBits, pools_.receiver);
  const std::vector<std::uint32_t> factors{1, 7, 0};
  const std::vector<UInt128> values(kCount, 5);
  EXPECT_THROW((void)receiver.finish(Bytes(kCount * kBits * sizeof(UInt128))), InvalidArgument);
  EXPECT_THROW((void)receiver.choose(std::vector<std::uint32_t>(2)), InvalidArgument);
  EXPECT_THROW((void)receiver.choose(std::vector<std::uint32_t>{1, 8, 0}), InvalidArgument);
  const Bytes choices = receiver.choose(factors);
  EXPECT_THROW((void)receiver.choose(factors), InvalidArgument);
  for (std::size_t at = 0; at < choices.size(); ++at) {
    if (at == ot::MaterialTag::kBytes) continue;  // eight choices, of which any are possible
    Bytes bad = choices;
    bad[at] ^= std::byte{0x20};  // of the tag, or beyond the last bit
    EXPECT_THROW((void)sender.send(bad, values), ProtocolError);
    EXPECT_THROW((void)sender.send(ByteView(choices).first(at), values), ProtocolError);
  }
  EXPECT_THROW((void)sender.send(choices, std::span(values).first(2)), InvalidArgument);
  const auto sent = sender.send(choices, values);
  EXPECT_THROW((void)sender.send(choices, values), InvalidArgument);
  for (std::size_t size = 0; size < sent.message.size(); ++size) {
    EXPECT_THROW((void)receiver.finish(ByteView(sent.message).first(size)), ProtocolError);
  }
  (void)receiver.finish(sent.message);
  EXPECT_THROW((void)receiver.finish(sent.message), InvalidArgument);
  static_assert(!std::is_copy_constructible_v<FactorSender> && !std::is_copy_constructible_v<FactorReceiver>);
  EXPECT_THROW((void)row_factor_cost(1, 0), InvalidArgument);
  EXPECT_THROW((void)row_factor_cost(1, 33), InvalidArgument);
}

class RowWeights : public ::testing::Test {
 protected:
  SharedParties parties_;
};

TEST_F(RowWeights, MultiplyRowsExactlyAndCostWhatIsSaid) {
  constexpr std::size_t kRows = 128;
  constexpr std::size_t kCols = 3;
  constexpr int kScale = 32;
  const std::vector<double> reals = normal_values(kRows * kCols, 100, 3);
  std::vector<double> weights(kRows);
  for (std::size_t i = 0; i < kRows; ++i) weights[i] = std::ldexp(static_cast<double>(i * i * 63), -16);
  weights[5] = 16 - 0x1p-16;
  const SharedPair values = shared(kRows, kCols, reals, kScale);
  // So that what makes random OTs has travelled.
  parties_.run([&](Session& s) {
    reserve(s, weighted_cost(kRows * kCols));
    return 0;
  });
  parties_.start_counting();
  const SharedPair products = parties_.shares([&](Session& s) {
    return weighted(s, 9, values.of(s.party()), s.party() == Party::kB ? weights : std::vector<double>{});
  });
  EXPECT_EQ(parties_.counted(), SharedParties::on_the_wire(weighted_cost(kRows * kCols)));
  EXPECT_EQ(products.a.scale(), kScale);
  const std::vector<double> found = products.reals();
  const std::vector<double> exact = values.reals();
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], exact[i] * weights[i / kCols], 2 * std::ldexp(1.0, -kScale)) << i;
  }
}

// A wrap around adds 2^128 to one that was rounded in between: it is as likely as the product is large.
TEST_F(RowWeights, FailWithAChanceThatIsSaid) {
  EXPECT_EQ(weighted_failure(1, 256, 32), 0x1p-72);
  EXPECT_EQ(weighted_failure(1024, 256, 18), 0x1p-76);
}

// The same at a scale so fine that one product in eight goes wrong.
TEST_F(RowWeights, FailAsOftenAsIsSaidAtARaisedScale) {
  constexpr std::size_t kRows = 1024;
  constexpr int kScale = 85;
  const SharedPair values = shared(kRows, 1, std::vector<double>(kRows, 0x1p21), kScale);
  const std::vector<double> found =
      parties_
          .shares([&](Session& s) {
            return weighted(s, 9, values.of(s.party()),
                            s.party() == Party::kB ? std::vector<double>(kRows, 8) : std::vector<double>{});
          })
          .reals();
  const double expected = weighted_failure(kRows, 0x1p24, kScale);
  ASSERT_EQ(expected, kRows / 8.0);
  const auto wrong =
      static_cast<double>(std::ranges::count_if(found, [](double v) { return std::abs(v - 0x1p24) > 1; }));
  EXPECT_NEAR(wrong, expected, 5 * std::sqrt(expected));
}

// What is below the last bit is rounded, and nothing is rounded up to the limit.
TEST_F(RowWeights, AreRoundedToTheirScale) {
  const SharedPair ones = shared(4, 1, std::vector<double>(4, 1), 32);
  const std::vector<double> weights{0, 1.0 / 3, std::nextafter(16.0, 0), 2.5};
  const std::vector<double> found =
      parties_
          .shares([&](Session& s) {
            return weighted(s, 9, ones.of(s.party()), s.party() == Party::kB ? weights : std::vector<double>{});
          })
          .reals();
  const std::vector<double> expected{0, std::round(0x1p16 / 3) / 0x1p16, 16 - 0x1p-16, 2.5};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(found[i], expected[i], 0x1p-31) << i;
}

TEST_F(RowWeights, BeyondTheirRangeAreErrorsBeforeAnythingIsSent) {
  const SharedPair ones = shared(2, 1, std::vector<double>(2, 1), 32);
  Session& s = parties_.session(Party::kB);
  const auto said = [&](const ShareMatrix& share, const std::vector<double>& weights) {
    return testing::message_of<InvalidArgument>([&] { (void)weighted(s, 9, share, weights); });
  };
  for (const double bad : {16.0, -1e-9, std::nan(""), HUGE_VAL}) {
    EXPECT_THAT(said(ones.b, {1, bad}), HasSubstr("from 0 to below 16"));
  }
  EXPECT_THAT(said(ones.b, {1}), HasSubstr("a weight for each of 2 rows"));
  EXPECT_THAT(said(narrowed(ones.b, 64), {1, 1}), HasSubstr("in the ring of 2^128"));
}

}  // namespace
}  // namespace blindfl::mpc::row_weights_test
