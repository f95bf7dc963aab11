// What B, an A, and B with some of the A's can make of what they see while the ids of all are aligned.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "blindfl/protocol/align/psi_all_steps.h"
#include "protocol/psi_all_fixture.h"
#include "testing/steps.h"
#include "testing/uniformity.h"

namespace blindfl::protocol::psi_all_view_test {
namespace {

using ::testing::IsEmpty;

enum class Shares { kOfZero, kNone };

/// One alignment without links: what B finds for each of its ids.
class BsView {
 public:
  /// `has[id]` has a bit for each A that has that id of B's.
  BsView(std::vector<std::uint32_t> has, std::vector<AlignedPeers> peers, Nonces nonces,
         Shares shares = Shares::kOfZero)
      : has_(std::move(has)), peers_(std::move(peers)), nonces_(std::move(nonces)) {
    const BlindingKey key(random_);
    std::vector<std::string> ids(has_.size());
    std::vector<std::uint32_t> rows(has_.size());
    std::iota(rows.begin(), rows.end(), 0U);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = id(i);
    const Points blinded = key.multiply(hash_to_points(ids, rows, pool_), pool_);
    for (std::size_t a = 0; a < peers_.size(); ++a) {
      found_.push_back(run_a(a, shares, blinded, key.inverse()));
    }
  }

  static std::string id(std::size_t i) { return "id " + std::to_string(i); }

  /// Those of B's ids whose shares of these A's add up to 0.
  [[nodiscard]] std::set<std::uint32_t> found(std::uint32_t of) const {
    std::vector<const std::vector<FieldElement>*> shares;
    for (std::size_t a = 0; a < peers_.size(); ++a) {
      if ((of >> a & 1U) != 0) shares.push_back(&found_[a]);
    }
    const std::vector<std::uint32_t> places = places_of_all(shares);
    return {places.begin(), places.end()};
  }
  /// Those of B's ids that these A's have.
  [[nodiscard]] std::set<std::uint32_t> had_by(std::uint32_t all) const {
    std::set<std::uint32_t> had;
    for (std::uint32_t i = 0; i < has_.size(); ++i) {
      if ((has_[i] & all) == all) had.insert(i);
    }
    return had;
  }
  /// What B finds in all together with the A's of `with`, who know their own secrets.
  [[nodiscard]] std::set<std::uint32_t> found_with(std::uint32_t with) const {
    std::set<std::uint32_t> found;
    for (std::uint32_t i = 0; i < has_.size(); ++i) {
      FieldElement sum = 0;
      for (std::size_t a = 0; a < peers_.size(); ++a) {
        const bool helps = (with >> a & 1U) != 0;
        sum = field_sum(sum, helps ? ZeroShares(peers_[a], nonces_[a], nonces_).of(id(i)) : found_[a][i]);
      }
      if (sum == 0) found.insert(i);
    }
    return found;
  }
  [[nodiscard]] const std::vector<FieldElement>& shares(std::size_t a) const { return found_[a]; }
  [[nodiscard]] bool has(std::size_t a, std::size_t id) const { return (has_[id] >> a & 1U) != 0; }

 private:
  std::vector<FieldElement> run_a(std::size_t a, Shares shares, const Points& blinded, const BlindingKey& unblinding) {
    std::vector<std::string> ids;
    for (std::size_t i = 0; i < has_.size(); ++i) {
      if (has(a, i)) ids.push_back(id(i));
    }
    for (int i = 0; i < 10; ++i) ids.push_back("of A alone " + std::to_string(i));
    StepsOfA steps(ids, random_);
    steps.name_own(0, ids.size(), pool_);
    // Who is alone has no other's secrets, and shares of 0.
    const ZeroShares of_a = shares == Shares::kOfZero ? ZeroShares(peers_[a], nonces_[a], nonces_)
                                                      : ZeroShares({.names = {"A1"}}, nonces_[a], {nonces_[a]});
    const auto table = steps.hide(of_a, random_, pool_);
    StepsOfB of_b(HiddenTable(HiddenShape::of(ids.size()), {table->numbers().begin(), table->numbers().end()}),
                  unblinding);
    of_b.take(steps.answer(blinded, pool_), pool_);
    return of_b.shares();
  }

  Random random_;
  ThreadPool pool_;
  std::vector<std::uint32_t> has_;
  std::vector<AlignedPeers> peers_;
  Nonces nonces_;
  std::vector<std::vector<FieldElement>> found_;
};

Nonces nonces_of(std::size_t count) {
  Random random;
  Nonces nonces(count);
  for (Nonce& nonce : nonces) random.fill(nonce);
  return nonces;
}

/// So many ids for each set of A's that may have one.
std::vector<std::uint32_t> each_set(std::size_t parties, std::size_t of_each) {
  std::vector<std::uint32_t> has;
  for (std::size_t i = 0; i < of_each; ++i) {
    for (std::uint32_t set = 0; set < 1U << parties; ++set) has.push_back(set);
  }
  return has;
}

class ViewOfB : public ::testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] std::uint32_t all() const { return (1U << GetParam()) - 1; }
};
INSTANTIATE_TEST_SUITE_P(Parties, ViewOfB, ::testing::Values(2, 3, 4), ::testing::PrintToStringParamName());

TEST_P(ViewOfB, HoldsTheIdsOfAllAndOfNoFewer) {
  const BsView view(each_set(GetParam(), 5), peers_of(GetParam()), nonces_of(GetParam()));
  EXPECT_EQ(view.found(all()), view.had_by(all()));
  for (std::uint32_t some = 1; some < all(); ++some) {
    EXPECT_FALSE(view.had_by(some).empty());
    EXPECT_THAT(view.found(some), IsEmpty()) << "of the A's " << some;
  }
}

TEST_P(ViewOfB, WithoutSharesOfZeroWouldHoldThoseOfAnyOfThem) {
  const BsView view(each_set(GetParam(), 5), peers_of(GetParam()), nonces_of(GetParam()), Shares::kNone);
  for (std::uint32_t some = 1; some <= all(); ++some) EXPECT_EQ(view.found(some), view.had_by(some));
}

TEST_P(ViewOfB, WithSomeOfTheAsHoldsWhatAllOtherAsHaveAndNoLess) {
  const BsView view(each_set(GetParam(), 3), peers_of(GetParam()), nonces_of(GetParam()));
  for (std::uint32_t with = 0; with < all(); ++with) {
    EXPECT_EQ(view.found_with(with), view.had_by(all() & ~with)) << "with the A's " << with;
  }
}

/// Shares of an A for the ids that it has, and for those that it has not; without those that all have.
std::pair<std::vector<UInt128>, std::vector<UInt128>> shares_of(const BsView& view, std::size_t a, std::size_t ids,
                                                                const std::set<std::uint32_t>& of_all) {
  std::pair<std::vector<UInt128>, std::vector<UInt128>> shares;
  for (std::uint32_t i = 0; i < ids; ++i) {
    if (!of_all.contains(i)) (view.has(a, i) ? shares.first : shares.second).push_back(view.shares(a)[i]);
  }
  return shares;
}

TEST(ViewOfBUniformity, TellsNotWhichIdsAnAHas) {
  std::vector<std::uint32_t> has;
  for (std::size_t i = 0; i < 3 * 1300; ++i) has.push_back(1 + i % 3);  // the first A, the second, both
  const BsView view(has, peers_of(2), nonces_of(2));
  const BsView without(has, peers_of(2), nonces_of(2), Shares::kNone);
  for (std::size_t a = 0; a < 2; ++a) {
    const auto [had, lacked] = shares_of(view, a, has.size(), view.had_by(3));
    EXPECT_TRUE(testing::looks_uniform<UInt128>(had, 127));
    EXPECT_TRUE(testing::looks_uniform<UInt128>(lacked, 127));
    const auto [had_without, lacked_without] = shares_of(without, a, has.size(), without.had_by(3));
    EXPECT_FALSE(testing::looks_uniform<UInt128>(had_without, 127)) << "the test sees nothing";
    EXPECT_TRUE(testing::looks_uniform<UInt128>(lacked_without, 127));
  }
  // Of those that all have, each A's share alone.
  std::vector<UInt128> of_all;
  for (const std::uint32_t i : view.had_by(3)) of_all.push_back(view.shares(0)[i]);
  EXPECT_TRUE(testing::looks_uniform<UInt128>(of_all, 127));
}

/// The ids for which an A's share is the same in both.
std::set<std::uint32_t> repeated(const BsView& first, const BsView& second, std::size_t a) {
  std::set<std::uint32_t> same;
  for (std::uint32_t i = 0; i < first.shares(a).size(); ++i) {
    if (first.shares(a)[i] == second.shares(a)[i]) same.insert(i);
  }
  return same;
}

TEST(ViewOfBTwice, HasNothingInCommonThoughTheSecretsAreTheSame) {
  const std::vector<std::uint32_t> has = each_set(3, 6);
  const std::vector<AlignedPeers> peers = peers_of(3);
  const Nonces nonces = nonces_of(3);
  const BsView first(has, peers, nonces);
  // It is enough that this A's own number is fresh, whatever B says that the others' are.
  Nonces fresh = nonces;
  fresh[1] = nonces_of(1)[0];
  EXPECT_THAT(repeated(first, BsView(has, peers, fresh), 1), IsEmpty());
  // The same numbers again would tell B which ids the A had both times, of which no other A need have any.
  EXPECT_EQ(repeated(first, BsView(has, peers, nonces), 1), first.had_by(2));
}

Ids numbered(std::size_t first, std::size_t count) {
  Ids ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back("person number " + std::to_string(first + i));
  return ids;
}

std::vector<std::pair<net::Direction, net::Message>> shape_of(const testing::Recording& recording) {
  std::vector<std::pair<net::Direction, net::Message>> shape;
  for (const testing::RecordedMessage& m : recording.messages()) shape.emplace_back(m.direction, m.message);
  return shape;
}

TEST(ViewOfA, IsTheSameWhateverTheOtherAsHaveBesidesTheIdsOfAll) {
  const Ids of_b = numbered(0, 20);
  const Ids of_first = numbered(0, 12);
  // The second A has 5 of the common ids; and then none of the others, or all of B's that the first lacks, or its own.
  std::vector<std::vector<std::pair<net::Direction, net::Message>>> shapes;
  for (const std::size_t others : {100U, 12U, 200U}) {
    Ids of_second = numbered(0, 5);
    const Ids more = numbered(others, others == 200 ? 30 : 8);
    of_second.insert(of_second.end(), more.begin(), more.end());
    StarOfParties parties(2);
    const auto all = align_star(parties, {{of_first, of_second}, of_b}, peers_of(2));
    ASSERT_EQ(all[0].size(), 5U);
    shapes.push_back(shape_of(parties.at_a(0)));
  }
  EXPECT_EQ(shapes[1], shapes[0]);
  EXPECT_EQ(shapes[2], shapes[0]);
}

/// All pieces of 16 bytes that went from A, or to it.
std::set<Bytes> pieces(const testing::Recording& recording, net::Direction direction,
                       const std::set<net::Step>& steps) {
  std::set<Bytes> all;
  for (const testing::RecordedMessage& m : recording.messages()) {
    if (m.direction != direction || !steps.contains(m.message.step)) continue;
    for (std::size_t i = 0; i + 16 <= m.payload.size(); i += 16) {
      const auto begin = m.payload.begin() + static_cast<std::ptrdiff_t>(i);
      all.insert(Bytes(begin, begin + 16));
    }
  }
  return all;
}

TEST(ViewOfA, HasNothingOfAnotherAsButAProofOfItsOrder) {
  StarOfParties parties(3);
  const IdsOfAll ids{std::vector<Ids>(3, numbered(0, 30)), numbered(0, 30)};
  (void)align_star(parties, ids, peers_of(3));
  const std::set<net::Step> sent{steps::kHiddenIds, steps::kAnsweredIds, steps::kOrderProofs};
  const std::set<net::Step> all_steps{steps::kBlindedIds, steps::kHiddenIds, steps::kAnsweredIds, steps::kCommonIds,
                                      steps::kOrderProofs};
  for (std::size_t one = 0; one < 3; ++one) {
    for (std::size_t other = 0; other < 3; ++other) {
      if (one == other) continue;
      const std::set<Bytes> from = pieces(parties.at_a(one), net::Direction::kSent, sent);
      const std::set<Bytes> to = pieces(parties.at_a(other), net::Direction::kReceived, all_steps);
      std::vector<Bytes> both;
      std::ranges::set_intersection(from, to, std::back_inserter(both));
      EXPECT_EQ(both.size(), 1U) << "one proof that it ended with the same order, and nothing else";
      // They cannot even compare what B tells them: each has names of its own for the ids.
      std::vector<Bytes> told;
      std::ranges::set_intersection(pieces(parties.at_a(one), net::Direction::kReceived, {steps::kCommonIds}),
                                    pieces(parties.at_a(other), net::Direction::kReceived, {steps::kCommonIds}),
                                    std::back_inserter(told));
      EXPECT_THAT(told, IsEmpty());
    }
  }
}

TEST(ViewOfAll, HoldsNoIdAndNoHashOfOne) {
  StarOfParties parties(2);
  const IdsOfAll ids{{numbered(0, 15), numbered(5, 12)}, numbered(8, 12)};
  (void)align_star(parties, ids, peers_of(2));
  const Ids all = numbered(0, 20);
  std::vector<std::uint32_t> rows(all.size());
  std::iota(rows.begin(), rows.end(), 0U);
  ThreadPool pool;
  const Points hashes = hash_to_points(all, rows, pool);
  for (std::size_t a = 0; a < 2; ++a) {
    for (const testing::RecordedMessage& m : parties.at_a(a).messages()) {
      const auto has = [&](ByteView secret) {
        return std::search(m.payload.begin(), m.payload.end(), secret.begin(), secret.end()) != m.payload.end();
      };
      for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_FALSE(has(as_bytes(all[i])));
        EXPECT_FALSE(has(hashes[i]));
      }
    }
  }
}

TEST(ViewOfAll, HasFreshPointsAndNumbersEachTime) {
  const IdsOfAll ids{{numbered(0, 15), numbered(0, 15)}, numbered(0, 15)};
  const std::vector<AlignedPeers> peers = peers_of(2);
  StarOfParties first(2);
  StarOfParties second(2);
  (void)align_star(first, ids, peers);
  (void)align_star(second, ids, peers);
  const std::set<net::Step> steps{steps::kBlindedIds, steps::kHiddenIds, steps::kAnsweredIds, steps::kCommonIds,
                                  steps::kOrderProofs};
  for (const net::Direction direction : {net::Direction::kSent, net::Direction::kReceived}) {
    std::vector<Bytes> both;
    std::ranges::set_intersection(pieces(first.at_a(0), direction, steps), pieces(second.at_a(0), direction, steps),
                                  std::back_inserter(both));
    EXPECT_THAT(both, IsEmpty());
  }
}

}  // namespace
}  // namespace blindfl::protocol::psi_all_view_test
