// How many rows are right, and nothing of any of them.

#include "blindfl/mpc/right_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <tuple>

#include "blindfl/base/error.h"
#include "blindfl/mpc/compare.h"
#include "blindfl/mpc/maximum.h"
#include "mpc/shared_fixture.h"
#include "testing/thrown.h"

namespace blindfl::mpc::right_rows_test {
namespace {

constexpr int kScale = 18;
constexpr int kRing = 38;
constexpr int kBits = 35;

/// On the grid of shares, with the numbers where a comparison could be off by one.
std::vector<double> margins_with_edges(std::size_t count, std::uint64_t seed) {
  std::vector<double> values = normal_values(count, 4, seed);
  for (double& v : values) v = std::ldexp(std::floor(std::ldexp(v, kScale)), -kScale);
  values[0] = 0;
  values[1] = std::ldexp(1.0, -kScale);
  values[2] = -std::ldexp(1.0, -kScale);
  values[3] = 65535.5;
  values[4] = -65536;
  return values;
}

BitShares turned_at(Party party, const std::vector<bool>& turned) {
  BitShares bits(turned.size());
  if (party == Party::kA) return bits;
  for (std::size_t i = 0; i < turned.size(); ++i) {
    bits.words()[i / 64] |= static_cast<std::uint64_t>(turned[i] ? 1 : 0) << (i % 64);
  }
  return bits;
}

std::uint64_t opened_count(const SharedPair& count) {
  return low64(open(count.a, count.b).values()[0]);
}

TEST(RightRows, AreThoseWhoseMarginHasTheSignThatTheirLabelWants) {
  SharedParties parties;
  for (const std::size_t rows : {std::size_t{5}, std::size_t{64}, std::size_t{777}}) {
    const auto margins = margins_with_edges(rows, rows);
    const SharedPair shares = shared(rows, 1, margins, kScale, kRing);
    for (int pattern = 0; pattern < 3; ++pattern) {
      std::vector<bool> turned(rows);
      std::uint64_t right = 0;
      for (std::size_t i = 0; i < rows; ++i) {
        turned[i] = pattern == 2 ? i % 3 == 1 : pattern == 1;
        right += (margins[i] >= 0) != turned[i] ? 1 : 0;
      }
      const PartyCost cost = count_right_cost(rows, kBits);
      parties.run([&](Session& s) { reserve(s, cost); });
      parties.start_counting();
      const SharedPair count = parties.shares(
          [&](Session& s) { return count_right(s, 3, shares.of(s.party()), turned_at(s.party(), turned), kBits); });
      EXPECT_EQ(parties.counted(), SharedParties::on_the_wire(cost));
      EXPECT_EQ(opened_count(count), right) << rows << " rows, pattern " << pattern;
      EXPECT_EQ(count.a.ring_bits(), 64);
    }
  }
}

// Widths at which B has the comparison's last word, and those at which A has.
TEST(RightRows, CostWhatIsSaidAtEveryWidth) {
  SharedParties parties;
  const SharedPair shares = shared(40, 1, std::vector<double>(40, -1), kScale, 64);
  std::set<int> odd;
  for (const int bits : {20, 24, 30, 34, 35, 40, 50, 64}) {
    odd.insert(compare_cost(40, bits).flights % 2);
    const PartyCost cost = count_right_cost(40, bits);
    parties.run([&](Session& s) { reserve(s, cost); });
    parties.start_counting();
    const SharedPair count =
        parties.shares([&](Session& s) { return count_right(s, 3, shares.of(s.party()), BitShares(40), bits); });
    EXPECT_EQ(parties.counted(), SharedParties::on_the_wire(cost)) << bits;
    EXPECT_EQ(opened_count(count), 0U);
  }
  EXPECT_EQ(odd.size(), 2U);
}

TEST(RightRows, OfClassesAreThoseWhoseOwnScoreIsTheLargest) {
  constexpr std::size_t kRows = 60;
  SharedParties parties;
  for (const std::size_t classes : {std::size_t{2}, std::size_t{3}, std::size_t{7}}) {
    std::vector<double> scores = normal_values(kRows * classes, 2, classes);
    for (double& v : scores) v = std::ldexp(std::floor(std::ldexp(v, kScale)), -kScale);
    std::fill_n(scores.begin(), classes, 1.5);  // of the first row all are the largest
    std::vector<double> labels(kRows);
    std::uint64_t right = 0;
    for (std::size_t r = 0; r < kRows; ++r) {
      labels[r] = static_cast<double>((r * 5) % classes);
      const auto row = scores.begin() + static_cast<std::ptrdiff_t>(r * classes);
      right += row[static_cast<std::ptrdiff_t>(labels[r])] ==
               *std::max_element(row, row + static_cast<std::ptrdiff_t>(classes));
    }
    const SharedPair shares = shared(kRows, classes, scores, kScale, kRing);
    const PartyCost cost = own_scores_cost(kRows, classes);
    parties.run([&](Session& s) { reserve(s, cost); });
    parties.start_counting();
    const SharedPair own = parties.shares([&](Session& s) {
      return own_scores(s, 3, shares.of(s.party()), s.party() == Party::kB ? labels : std::vector<double>{});
    });
    EXPECT_EQ(parties.counted(), SharedParties::on_the_wire(cost));
    const auto opened = own.reals();
    for (std::size_t r = 0; r < kRows; ++r) {
      EXPECT_EQ(opened[r], scores[r * classes + static_cast<std::size_t>(labels[r])]);
    }
    EXPECT_EQ(own.a.ring_bits(), kRing);
    const SharedPair count = parties.shares([&](Session& s) {
      const ShareMatrix largest = maximum(s, 4, shares.of(s.party()), kBits - 1);
      return count_right(s, 5, own.of(s.party()) - largest, BitShares(kRows), kBits);
    });
    EXPECT_EQ(opened_count(count), right) << classes << " classes";
    EXPECT_GT(right, 0U);
    EXPECT_LT(right, kRows);
  }
}

// Of the same rows: shares are fresh, and nothing that travels repeats or opens anything.
TEST(RightRows, StayShared) {
  constexpr std::size_t kRows = 512;
  SharedParties parties;
  const SharedPair scores = shared(kRows, 3, std::vector<double>(kRows * 3, 1), kScale, kRing);
  std::set<std::uint64_t> counts;
  for (int i = 0; i < 8; ++i) {
    const SharedPair count = parties.shares([&](Session& s) {
      const ShareMatrix own = own_scores(s, 3, scores.of(s.party()),
                                         s.party() == Party::kB ? std::vector<double>(kRows) : std::vector<double>{});
      return count_right(s, 3, own, BitShares(kRows), kBits);
    });
    EXPECT_EQ(opened_count(count), kRows);
    counts.insert(low64(count.a.values()[0]));
    counts.insert(low64(count.b.values()[0]));
  }
  EXPECT_EQ(counts.size(), 16U);
  for (const Party party : {Party::kA, Party::kB}) {
    std::size_t messages = 0;
    std::set<Bytes> different;
    for (const net::Step step :
         {net::Step(steps::kChoices), net::Step(steps::kSelection), net::Step(steps::kComparison)}) {
      EXPECT_EQ(net::describe(step).protection, net::Protection::kPadded);
      for (Bytes& payload : parties.payloads(party, step)) {
        ++messages;
        different.insert(std::move(payload));
      }
    }
    EXPECT_GE(messages, 24U);
    EXPECT_EQ(different.size(), messages);
    for (const auto& [step, traffic] : parties.parties().recording(party).sent()) {
      EXPECT_NE(net::describe(step).protection, net::Protection::kShare) << net::describe(step).name;
    }
  }
}

// The same labels and scores every time: B's choices and A's corrections are coin tosses all the same.
TEST(RightRows, SendChoicesAndCorrectionsThatTellNothing) {
  constexpr std::size_t kRows = 2048;
  SharedParties parties;
  for (const double label : {0.0, 1.0}) {
    const SharedPair scores = shared(kRows, 2, std::vector<double>(kRows * 2, 3.0), kScale, kRing);
    (void)parties.shares([&](Session& s) {
      return own_scores(s, 3, scores.of(s.party()),
                        s.party() == Party::kB ? std::vector<double>(kRows, label) : std::vector<double>{});
    });
    for (const auto& [party, step, skipped] :
         {std::tuple{Party::kB, net::Step(steps::kChoices), ot::MaterialTag::kBytes},
          std::tuple{Party::kA, net::Step(steps::kSelection), std::size_t{0}}}) {
      const Bytes payload = parties.payloads(party, step).back();
      double ones = 0;
      for (std::size_t i = skipped; i < payload.size(); ++i)
        ones += std::popcount(std::to_integer<unsigned>(payload[i]));
      const double bits = 8.0 * static_cast<double>(payload.size() - skipped);
      EXPECT_NEAR(ones, bits / 2, 6 * 0.5 * std::sqrt(bits));
    }
  }
}

TEST(RightRows, RefuseOtherRowsAndClasses) {
  SharedParties parties;
  Session& a = parties.session(Party::kA);
  Session& b = parties.session(Party::kB);
  const ShareMatrix scores(4, 3, kScale, kRing);
  const std::vector<double> classes = {0, 1, 2, 0};
  EXPECT_THROW((void)own_scores(a, 1, scores, classes), InvalidArgument) << "A has no labels";
  EXPECT_THROW((void)own_scores(b, 1, scores, std::vector<double>(3)), InvalidArgument);
  EXPECT_THROW((void)own_scores(b, 1, scores, std::vector<double>{0, 1, 3, 0}), InvalidArgument);
  EXPECT_THROW((void)own_scores(b, 1, scores, std::vector<double>{0, -1, 2, 0}), InvalidArgument);
  EXPECT_THROW((void)own_scores(b, 1, scores, std::vector<double>{0, std::nan(""), 2, 0}), InvalidArgument);
  EXPECT_THROW((void)own_scores(a, 1, ShareMatrix(0, 3, kScale, kRing), {}), InvalidArgument);
  EXPECT_THROW((void)count_right(a, 1, ShareMatrix(4, 1, kScale, kRing), BitShares(3), kBits), InvalidArgument);
  EXPECT_THROW((void)count_right(a, 1, ShareMatrix(4, 1, kScale, kRing), BitShares(4), 39), InvalidArgument);
}

// One that took an OT more than the other: said by A, before it sends a word.
TEST(RightRows, OfAPeerAtAnotherPlaceOfItsPoolAreAnError) {
  for (const bool classes : {false, true}) {
    SharedParties parties;
    const SharedPair scores = shared(8, 2, std::vector<double>(16, 1), kScale, kRing);
    const std::string said = testing::message_of<ProtocolError>([&] {
      parties.run([&](Session& s) {
        reserve(s, own_scores_cost(9, 2) + count_right_cost(9, kBits));
        if (s.party() == Party::kB) (void)s.ots().receiver().take(1);
        const ShareMatrix& mine = scores.of(s.party());
        if (classes) {
          (void)own_scores(s, 3, mine, s.party() == Party::kB ? std::vector<double>(8) : std::vector<double>{});
        } else {
          (void)count_right(s, 3, select_columns(mine, 0, 1), BitShares(8), kBits);
        }
      });
    });
    EXPECT_THAT(said, ::testing::HasSubstr("out of step"));
    EXPECT_TRUE(parties.payloads(Party::kA, steps::kSelection).empty());
    EXPECT_TRUE(parties.payloads(Party::kA, steps::kComparison).empty());
  }
}

}  // namespace
}  // namespace blindfl::mpc::right_rows_test
