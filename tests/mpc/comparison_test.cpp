// Comparisons against the numbers themselves: every width, edges, a million random ones; and what they cost.

#include "blindfl/mpc/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "blindfl/base/error.h"
#include "mpc/two_comparisons.h"
#include "testing/real_data.h"
#include "testing/sanitizers.h"

namespace blindfl::mpc::comparison_test {
namespace {

using Words = SecretVector<std::uint64_t>;

std::uint64_t mask_of_bits(int bits) {
  return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

bool is_negative(std::uint64_t x, std::uint64_t y, int bits) {
  return ((x + y) >> (bits - 1) & 1) != 0;
}

std::size_t count_wrong(const ComparisonPlan& plan, const Words& x, const Words& y, DealtPools& pools, Random& random) {
  TwoComparisons two(plan, pools, random);
  (void)two.run(x, y);
  const BitShares result = two.sender.take() ^ two.receiver.take();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < x.size(); ++i) wrong += result.bit(i) == is_negative(x[i], y[i], plan.bits()) ? 1 : 0;
  return wrong;
}

/// 0, +-1, and what lies around a half and a quarter of the ring.
Words edges(int bits) {
  Words values;
  const std::uint64_t half = std::uint64_t{1} << (bits - 1);
  for (const std::uint64_t middle : {std::uint64_t{0}, half, half / 2, half + half / 2}) {
    for (const std::uint64_t offset : {-2, -1, 0, 1, 2}) values.push_back((middle + offset) & mask_of_bits(bits));
  }
  return values;
}

TEST(Comparison, EdgesAreRightForEveryWidth) {
  Random random;
  DealtPools pools;
  for (int bits = 2; bits <= 64; ++bits) {
    // Every edge as a value, with every edge as the sender's share; and both as shares.
    Words x;
    Words y;
    for (const std::uint64_t a : edges(bits)) {
      for (const std::uint64_t b : edges(bits)) {
        x.push_back(a);
        y.push_back(b - a);
        x.push_back(a);
        y.push_back(b);
      }
    }
    EXPECT_EQ(count_wrong({bits, x.size()}, x, y, pools, random), 0U) << bits;
  }
}

TEST(Comparison, EverySmallNumberInEveryWayIsRight) {
  Random random;
  DealtPools pools;
  for (int bits = 2; bits <= 6; ++bits) {
    Words x;
    Words y;
    for (std::uint64_t a = 0; a <= mask_of_bits(bits); ++a) {
      for (std::uint64_t b = 0; b <= mask_of_bits(bits); ++b) {
        x.push_back(a);
        y.push_back(b);
      }
    }
    EXPECT_EQ(count_wrong({bits, x.size()}, x, y, pools, random), 0U) << bits;
  }
}

/// Of each width: a million with BLINDFL_LONG_RUNS set, else a million in all.
std::size_t random_ones() {
#if defined(BLINDFL_ADDRESS_SANITIZER) || defined(BLINDFL_THREAD_SANITIZER)
  return 1000;  // whose memory is watched; that they are right the release tests show
#else
  return testing::long_runs() ? 1'000'000 : 16'000;
#endif
}

TEST(Comparison, AMillionRandomOnesAreRight) {
  constexpr std::size_t kAtOnce = 16'000;
  Random random;
  DealtPools pools;
  for (int bits = 2; bits <= 64; ++bits) {
    std::size_t wrong = 0;
    for (std::size_t left = random_ones(); left > 0;) {
      const std::size_t count = std::min(left, kAtOnce);
      Words x(count);
      Words y(count);
      random.fill_integers(std::span(x));
      random.fill_integers(std::span(y));
      // Half of them are small numbers, of either sign: where equal blocks decide.
      for (std::size_t i = 0; i < count; i += 2) y[i] = (y[i] & 0xFF) - 128 - x[i];
      wrong += count_wrong({bits, count}, x, y, pools, random);
      left -= count;
    }
    EXPECT_EQ(wrong, 0U) << bits;
  }
}

TEST(Comparison, AnyNumberOfThemWorks) {
  Random random;
  DealtPools pools;
  for (const std::size_t count : {1, 2, 7, 8, 63, 64, 65, 127, 1000}) {
    for (const int bits : {2, 3, 34, 64}) {
      Words x(count);
      Words y(count);
      random.fill_integers(std::span(x));
      random.fill_integers(std::span(y));
      EXPECT_EQ(count_wrong({bits, count}, x, y, pools, random), 0U) << count;
    }
  }
}

TEST(Comparison, CostsWhatThePlanSays) {
  Random random;
  DealtPools pools;
  for (int bits = 2; bits <= 64; ++bits) {
    for (const std::size_t count : {3, 64}) {
      const ComparisonPlan plan(bits, count);
      const std::uint64_t sent_before = pools.sent.sender.position();
      const std::uint64_t received_before = pools.received.sender.position();
      TwoComparisons two(plan, pools, random);
      const std::vector<Bytes> messages = two.run(Words(count), Words(count));
      Cost cost;
      for (std::size_t i = 0; i < messages.size(); ++i) {
        (i % 2 == 0 ? cost.receiver_bytes : cost.sender_bytes) += messages[i].size();
      }
      cost.flights = static_cast<int>(messages.size());
      cost.sender_ots = pools.sent.sender.position() - sent_before;
      cost.receiver_ots = pools.received.sender.position() - received_before;
      EXPECT_EQ(cost, plan.cost()) << bits;
      EXPECT_EQ(pools.sent.receiver.position(), pools.sent.sender.position());
      EXPECT_EQ(pools.received.receiver.position(), pools.received.sender.position());
    }
  }
}

TEST(Comparison, CostsWhatWasWorkedOutByHand) {
  // 31 bits below the top: 7 blocks of 4 bits and one of 3; 4 + 2 + 1 pairs.
  EXPECT_EQ(ComparisonPlan(32, 8192).cost(), (Cost{.sender_bytes = 8192 * (2 + 6 * 4 + 2) + 1024 * (11 + 5 + 2),
                                                   .receiver_bytes = 16 + 1024 * 31 + 1024 * (11 + 5 + 2),
                                                   .flights = 5,
                                                   .sender_ots = 8192 * (31 + 7),
                                                   .receiver_ots = 8192 * 7}));
}

// The tables' bits and no others: for one-bit blocks at the top (34, 38, 42, ...) a word of 4 bits must not take 8.
TEST(Comparison, NothingOutsideTheTablesIsSentForAnyWidth) {
  Random random;
  DealtPools pools;
  constexpr std::size_t kCount = 5;
  for (int bits = 2; bits <= 64; ++bits) {
    TwoComparisons two(ComparisonPlan(bits, kCount), pools, random);
    const std::vector<Bytes> messages = two.run(Words(kCount), Words(kCount));
    std::size_t expected = 0;
    for (int first = 0; first < bits - 1; first += 4) {
      const int width = std::min(4, bits - 1 - first);
      const std::size_t table_bits = (std::size_t{1} << width) * (first == 0 ? 1 : 2) * kCount;
      expected += (table_bits + 7) / 8;
      if (table_bits % 8 != 0) {
        EXPECT_EQ(std::to_integer<unsigned>(messages[1][expected - 1]) >> table_bits % 8, 0U) << bits;
      }
    }
    const std::size_t blocks = static_cast<std::size_t>(bits + 2) / 4;
    const std::size_t first_opening = blocks > 1 ? 3 * (blocks / 2) - 1 : 0;
    EXPECT_EQ(messages[1].size(), expected + first_opening) << bits;
  }
}

// Always the same values: every bit of every message must be a coin toss all the same.
TEST(Comparison, MessagesTellNothingOfTheValues) {
  Random random;
  DealtPools pools;
  constexpr std::size_t kCount = 4096;
  for (const int bits : {3, 6, 32, 34, 38, 42}) {
    for (const std::uint64_t share : {std::uint64_t{0}, ~std::uint64_t{0}}) {
      TwoComparisons two(ComparisonPlan(bits, kCount), pools, random);
      std::vector<Bytes> messages = two.run(Words(kCount, share), Words(kCount, share));
      messages[0].erase(messages[0].begin(), messages[0].begin() + ot::MaterialTag::kBytes);
      for (const Bytes& message : messages) {
        // Planes and tables lie one behind the other, so pieces of kCount bits have one kind of bits each, or few.
        for (std::size_t first = 0; first + kCount / 8 <= message.size(); first += kCount / 8) {
          std::array<std::size_t, 8> ones{};
          for (std::size_t i = first; i < first + kCount / 8; ++i) {
            for (std::size_t bit = 0; bit < 8; ++bit) ones[bit] += std::to_integer<std::size_t>(message[i]) >> bit & 1;
          }
          for (const std::size_t count : ones) {
            EXPECT_NEAR(static_cast<double>(count), kCount / 16.0, 7 * 0.5 * std::sqrt(kCount / 8.0)) << bits;
          }
        }
      }
    }
  }
}

TEST(Comparison, ResultsAreSharesThatTellNothingByThemselves) {
  Random random;
  DealtPools pools;
  constexpr std::size_t kCount = 4096;
  TwoComparisons two(ComparisonPlan(34, kCount), pools, random);
  (void)two.run(Words(kCount), Words(kCount));
  const BitShares mine = two.sender.take();
  const BitShares theirs = two.receiver.take();
  EXPECT_EQ(mine ^ theirs, BitShares(kCount).negated()) << "zero is not negative";
  for (const BitShares* shares : {&mine, &theirs}) {
    std::size_t ones = 0;
    for (std::size_t i = 0; i < kCount; ++i) ones += shares->bit(i) ? 1 : 0;
    EXPECT_NEAR(static_cast<double>(ones), kCount / 2.0, 6 * 0.5 * std::sqrt(static_cast<double>(kCount)));
  }
}

/// A twin of the receiver that opens the sender's tables as the receiver does: what it sees there are its own shares.
TEST(Comparison, TablesOpenToSharesThatTellNothing) {
  Random random;
  constexpr std::size_t kCount = 4096;
  for (const int bits : {3, 34, 64}) {
    const ComparisonPlan plan(bits, kCount);
    const ot::SecretBlocks leaves = DealtDirection::draw_leaves();
    DealtPools pools{DealtDirection(leaves, Party::kA), DealtDirection(DealtDirection::draw_leaves(), Party::kB)};
    DealtDirection twin(leaves, Party::kA);
    twin.extend_to(plan.cost().sender_ots);
    TwoComparisons two(plan, pools, random);
    const std::vector<Bytes> messages = two.run(Words(kCount), Words(kCount));
    BufferSource in(messages[1]);
    std::vector<BitShares> opened;
    for (const TableShape& shape : plan.blocks()) {
      TableReceiver receiver(shape, kCount, twin.receiver);
      BufferSink chosen;
      receiver.choose(std::vector(static_cast<std::size_t>(shape.index_bits), BitShares(kCount)), chosen);
      const auto entries = receiver.open(SecretVector<std::uint32_t>(kCount), receiver.read(in));
      const Words wide(entries.begin(), entries.end());
      for (BitShares& plane : planes_of(wide, static_cast<std::size_t>(shape.entry_bits))) opened.push_back(plane);
    }
    // Each alone, and any two together: one share for two bits would tell their sum.
    const auto expect_even = [&](const BitShares& plane, std::size_t i, std::size_t j) {
      std::size_t ones = 0;
      for (const std::uint64_t word : plane.words()) ones += static_cast<std::size_t>(std::popcount(word));
      EXPECT_NEAR(static_cast<double>(ones), kCount / 2.0, 6 * 0.5 * std::sqrt(static_cast<double>(kCount)))
          << bits << ' ' << i << ' ' << j;
    };
    for (std::size_t i = 0; i < opened.size(); ++i) {
      expect_even(opened[i], i, i);
      for (std::size_t j = 0; j < i; ++j) expect_even(opened[i] ^ opened[j], i, j);
    }
  }
}

TEST(Comparison, TakesSharesOfAnyRing) {
  ShareMatrix share(1, 3, 0, 40);
  share.values()[0] = 5;
  share.values()[1] = (UInt128{1} << 40) - 1;
  share.values()[2] = UInt128{1} << 35;
  EXPECT_EQ(low_words(share, 32), (Words{5, 0xFFFFFFFF, 0}));
  EXPECT_EQ(low_words(share, 40), (Words{5, 0xFFFFFFFFFF, 0x800000000}));
  EXPECT_THROW((void)low_words(share, 41), InvalidArgument);
  EXPECT_THROW((void)low_words(ShareMatrix(1, 1, 0), 65), InvalidArgument);
}

}  // namespace
}  // namespace blindfl::mpc::comparison_test
