#include "blindfl/protocol/align/psi_all.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "blindfl/protocol/align/alignment_offer.h"
#include "blindfl/protocol/align/psi_points.h"
#include "protocol/psi_all_fixture.h"
#include "testing/steps.h"
#include "testing/thrown.h"

namespace blindfl::protocol::psi_all_test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

Ids numbered(std::size_t first, std::size_t count) {
  Ids ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back("person number " + std::to_string(first + i));
  return ids;
}

/// Each A has ids of its own, those that it has with B alone, with the next A alone, and the common ones; so has B. In
/// another order at each.
IdsOfAll overlapping(std::size_t count, std::size_t common) {
  IdsOfAll ids;
  SeededRandom random(count);
  const auto add = [](Ids& to, const Ids& more) { to.insert(to.end(), more.begin(), more.end()); };
  const auto shuffle = [&](Ids& list) {
    for (std::size_t left = list.size(); left > 1; --left) std::swap(list[left - 1], list[random.below(left)]);
  };
  ids.b = numbered(0, common);
  add(ids.b, numbered(100, 5));
  for (std::size_t a = 0; a < count; ++a) {
    Ids own = numbered(0, common);
    add(own, numbered(1000 + 100 * a, 3 + a));
    add(own, numbered(5000 + 100 * a, 4));
    add(ids.b, numbered(5000 + 100 * a, 4));
    add(own, numbered(9000 + 100 * a, 2));
    add(own, numbered(9000 + 100 * ((a + 1) % count), 2));
    if (count == 1) own.resize(own.size() - 2);
    shuffle(own);
    ids.a.push_back(own);
  }
  shuffle(ids.b);
  return ids;
}

/// The ids at each place are the same at all, all different, and as many as expected.
void expect_aligned(const std::vector<Alignment>& all, const IdsOfAll& ids, std::size_t common) {
  std::set<std::string> seen;
  ASSERT_EQ(all.back().size(), common);
  for (std::size_t a = 0; a < ids.a.size(); ++a) {
    ASSERT_EQ(all[a].size(), common);
    EXPECT_THAT(all[a].real, Each(true));
    EXPECT_EQ(all[a].name, all.back().name);
  }
  EXPECT_THAT(all.back().real, Each(true));
  for (std::size_t place = 0; place < common; ++place) {
    const std::string& id = ids.b[all.back().rows[place]];
    EXPECT_TRUE(seen.insert(id).second);
    for (std::size_t a = 0; a < ids.a.size(); ++a) EXPECT_EQ(ids.a[a][all[a].rows[place]], id);
  }
}

class AlignmentOfAll : public ::testing::TestWithParam<std::size_t> {
 protected:
  std::vector<Alignment> align(const IdsOfAll& ids) {
    StarOfParties parties(GetParam());
    return align_star(parties, ids, peers_of(GetParam()));
  }
};
INSTANTIATE_TEST_SUITE_P(Parties, AlignmentOfAll, ::testing::Values(1, 2, 3, 5), ::testing::PrintToStringParamName());

TEST_P(AlignmentOfAll, HasTheIdsOfAllInOneOrder) {
  for (const std::size_t common : {1U, 7U, 19U}) {
    const IdsOfAll ids = overlapping(GetParam(), common);
    const std::size_t expected = common + (GetParam() == 1 ? 4 : 0);
    expect_aligned(align(ids), ids, expected);
  }
}

TEST_P(AlignmentOfAll, CanBeEmpty) {
  IdsOfAll ids = overlapping(GetParam(), 6);
  ids.a.back() = numbered(20000, 9);
  expect_aligned(align(ids), ids, 0);
}

TEST_P(AlignmentOfAll, IsEmptyWhereAPartyHasNoIds) {
  IdsOfAll ids = overlapping(GetParam(), 6);
  ids.a.back().clear();
  expect_aligned(align(ids), ids, 0);
  ids = overlapping(GetParam(), 6);
  ids.b.clear();
  expect_aligned(align(ids), ids, 0);
  ids.a.assign(GetParam(), {});
  expect_aligned(align(ids), ids, 0);
}

TEST_P(AlignmentOfAll, CanBeOfAllIds) {
  IdsOfAll ids{std::vector<Ids>(GetParam(), numbered(0, 24)), numbered(0, 24)};
  std::ranges::reverse(ids.b);
  const std::vector<Alignment> all = align(ids);
  expect_aligned(all, ids, 24);
  for (const Alignment& alignment : all) EXPECT_FALSE(std::ranges::is_sorted(alignment.rows));
}

TEST_P(AlignmentOfAll, TakesAnyBytesForIds) {
  const Ids odd{"", std::string("\0", 1), std::string("a\0b", 3), "a", "\xFF\xFE", std::string(100000, 'x')};
  const IdsOfAll ids{std::vector<Ids>(GetParam(), odd), Ids(odd.rbegin(), odd.rend())};
  expect_aligned(align(ids), ids, odd.size());
}

TEST_P(AlignmentOfAll, OfHundredsTakesSeveralBins) {
  IdsOfAll ids{std::vector<Ids>(GetParam(), numbered(0, 700)), numbered(350, 20)};
  StarOfParties parties(GetParam());
  expect_aligned(align_star(parties, ids, peers_of(GetParam()), {.ids_per_message = 300}), ids, 20);
}

TEST_P(AlignmentOfAll, RefusesRepeatedIdsAndNamesNone) {
  StarOfParties parties(GetParam());
  const std::vector<AlignedPeers> peers = peers_of(GetParam());
  const Ids twice{"anna", "bert", "anna"};
  const std::string at_a = testing::message_of<DataError>([&] { (void)align_all(parties.of_a(0), twice, peers[0]); });
  const std::string at_b =
      testing::message_of<DataError>([&] { (void)align_all(parties.of_b(), twice, {.names = peers[0].names}); });
  for (const std::string& says : {at_a, at_b}) {
    EXPECT_THAT(says, HasSubstr("1 of 3 ids"));
    EXPECT_THAT(says, ::testing::Not(HasSubstr("anna")));
  }
  // Nothing was sent: the links are as good as before.
  const IdsOfAll ids = overlapping(GetParam(), 3);
  expect_aligned(align_star(parties, ids, peers), ids, GetParam() == 1 ? 7 : 3);
}

TEST_P(AlignmentOfAll, CanBeDoneAgainInAnotherOrder) {
  StarOfParties parties(GetParam());
  const IdsOfAll ids{std::vector<Ids>(GetParam(), numbered(0, 24)), numbered(0, 24)};
  const std::vector<AlignedPeers> peers = peers_of(GetParam());
  const std::vector<Alignment> first = align_star(parties, ids, peers);
  const std::vector<Alignment> second = align_star(parties, ids, peers);
  for (std::size_t who = 0; who < first.size(); ++who) EXPECT_NE(first[who].rows, second[who].rows);
  if (GetParam() > 1) {
    EXPECT_NE(first.back().name, second.back().name);
  }
}

TEST_P(AlignmentOfAll, TellsItsProgressUpToTheEnd) {
  StarOfParties parties(GetParam());
  const IdsOfAll ids = overlapping(GetParam(), 20);
  const std::vector<AlignedPeers> peers = peers_of(GetParam());
  std::vector<std::vector<AlignmentProgress>> reports(GetParam() + 1);
  const auto options = [&](std::size_t who) {
    AlignmentOptions with_observer = options_of_all();
    with_observer.observer = [&, who](const AlignmentProgress& progress) { reports[who].push_back(progress); };
    return with_observer;
  };
  const auto thrown = parties.run(
      [&](Session& session, std::size_t a) { (void)align_all(session, ids.a[a], peers[a], options(a)); },
      [&](const Sessions& all) { (void)align_all(all, ids.b, {.names = peers[0].names}, options(GetParam())); });
  EXPECT_THAT(thrown, Each(nullptr));
  for (const auto& of_one : reports) {
    ASSERT_GE(of_one.size(), 5U);
    EXPECT_TRUE(std::ranges::is_sorted(of_one, {}, &AlignmentProgress::done));
    for (const AlignmentProgress& report : of_one) EXPECT_EQ(report.total, of_one.back().total);
    EXPECT_EQ(of_one.back().done, of_one.back().total);
  }
}

TEST_P(AlignmentOfAll, WorksOverLinksThatTakeLittleAtOnce) {
  StarOfParties parties(GetParam(), [](std::size_t) { return net::make_memory_channels(/*capacity=*/100); });
  const IdsOfAll ids = overlapping(GetParam(), 30);
  expect_aligned(align_star(parties, ids, peers_of(GetParam())), ids, GetParam() == 1 ? 34 : 30);
}

TEST(AlignmentOfAllOverTls, IsTheSame) {
  StarOfParties parties(2, [](std::size_t) {
    const auto ends = testing::make_tls_channels();
    return testing::Channels{ends.first->channel(), ends.second->channel()};
  });
  const IdsOfAll ids = overlapping(2, 11);
  expect_aligned(align_star(parties, ids, peers_of(2)), ids, 11);
}

TEST(AlignmentOfAllWithOneA, IsTheAlignmentOfTwoOnTheWire) {
  for (const AlignmentKind kind : kAllKinds) {
    const auto ids = make_ids({20, 15, 7});
    const testing::PlainScheme scheme;
    testing::TwoParties two(scheme);
    const auto [a, b] = align_both(two, ids, options_of(kind));
    StarOfParties star(1);
    const auto all = align_star(star, {{ids.first}, ids.second}, peers_of(1), options_of(kind));
    EXPECT_EQ(all[0].size(), a.size());
    EXPECT_EQ(star.at_a(0).sent(), two.recording(Party::kA).sent());
    EXPECT_EQ(star.at_a(0).received(), two.recording(Party::kA).received());
    const auto of_two = two.recording(Party::kA).messages();
    const auto of_star = star.at_a(0).messages();
    ASSERT_EQ(of_star.size(), of_two.size());
    for (std::size_t i = 0; i < of_two.size(); ++i) {
      EXPECT_EQ(of_star[i].message, of_two[i].message);
      EXPECT_EQ(of_star[i].direction, of_two[i].direction);
      // What is agreed on is bound to nothing fresh: byte for byte the same.
      if (of_two[i].message.step == steps::kAgreement) {
        EXPECT_EQ(of_star[i].payload, of_two[i].payload);
      }
    }
  }
}

TEST(AlignmentOfSeveral, RefusesOtherKindsWithTheReasonBeforeAnythingIsSent) {
  EXPECT_THAT(reason_against_several(AlignmentKind::kBoth), IsEmpty());
  for (const AlignmentKind kind : {AlignmentKind::kOnlyB, AlignmentKind::kUnion}) {
    StarOfParties parties(2);
    const std::vector<AlignedPeers> peers = peers_of(2);
    const std::string at_a = testing::message_of<ConfigError>(
        [&] { (void)align_all(parties.of_a(0), Ids{"anna"}, peers[0], {.kind = kind}); });
    const std::string at_b = testing::message_of<ConfigError>(
        [&] { (void)align_all(parties.of_b(), Ids{"anna"}, {.names = peers[0].names}, {.kind = kind}); });
    for (const std::string& says : {at_a, at_b}) {
      EXPECT_THAT(says, HasSubstr(std::string(name_of(kind))));
      EXPECT_THAT(says, HasSubstr(std::string(reason_against_several(kind))));
    }
    EXPECT_FALSE(parties.at_a(0).sent().contains(steps::kAgreement));
    EXPECT_FALSE(parties.at_b(0).sent().contains(steps::kAgreement));
  }
}

TEST(AlignmentOfSeveral, StopsBeforeAnIdLeavesWhereThePartiesDoNotAgree) {
  struct Case {
    std::function<void(AlignedPeers& of_first_a)> change;
    std::string words;
  };
  const std::vector<Case> cases{
      {[](AlignedPeers& p) {
         p.names.emplace_back("A4");
         p.secrets.push_back(p.secrets[1]);
       },
       "number of A's is 3 here and 4 at the peer"},
      {[](AlignedPeers& p) {
         std::swap(p.secrets[0], p.secrets[1]);
         p.own = 1;
       },
       "place of this A is 1 here and 2 at the peer"},
  };
  for (const Case& c : cases) {
    StarOfParties parties(3);
    std::vector<AlignedPeers> peers = peers_of(3);
    const std::vector<std::string> names = peers[0].names;
    c.change(peers[0]);
    const IdsOfAll ids = overlapping(3, 5);
    const auto thrown = parties.run([&](Session& s, std::size_t a) { (void)align_all(s, ids.a[a], peers[a]); },
                                    [&](const Sessions& s) { (void)align_all(s, ids.b, {.names = names}); });
    EXPECT_THAT(words_of(thrown.back()), StartsWith("A1: "));
    EXPECT_THAT(words_of(thrown.back()), HasSubstr("the alignment: " + c.words));
    for (std::size_t a = 0; a < 3; ++a) {
      EXPECT_TRUE(thrown[a]);
      EXPECT_FALSE(parties.at_a(a).sent().contains(steps::kHiddenIds));
    }
  }
}

TEST(AlignmentOfSeveral, RefusesPeersThatDoNotFit) {
  StarOfParties parties(2);
  const std::vector<AlignedPeers> peers = peers_of(2);
  const auto at_a = [&](AlignedPeers of_a, const std::string& words) {
    EXPECT_THAT(testing::message_of<InvalidArgument>([&] { (void)align_all(parties.of_a(0), Ids{}, of_a); }),
                HasSubstr(words));
  };
  at_a({}, "place 0 of 0");
  at_a({.names = {"A1", "A2"}, .own = 2}, "place 2 of 2");
  at_a({.names = {"A1", "A2"}, .own = 0}, "a secret with each of the 2");
  at_a({.names = {"A1", "A2"}, .own = 0, .secrets = std::vector<PairSecret>(2)}, "shares with A2 must be 32 bytes");
  at_a({.names = peers[1].names, .own = 0, .secrets = peers[1].secrets}, "shares with A1 must be 32 bytes");
  const auto at_b = [&](const AlignedPeers& of_b, const std::string& words) {
    EXPECT_THAT(testing::message_of<InvalidArgument>([&] { (void)align_all(parties.of_b(), Ids{}, of_b); }),
                HasSubstr(words));
  };
  at_b({.names = {"A1"}}, "2 sessions with A's, and 1 names");
  at_b({.names = peers[0].names, .secrets = peers[0].secrets}, "no part");
}

TEST(AlignmentOfSeveral, CostsWhatItsHeaderSays) {
  StarOfParties parties(2);
  const IdsOfAll ids{{numbered(0, 1000), numbered(500, 200)}, numbered(600, 50)};
  const auto all = align_star(parties, ids, peers_of(2), {.ids_per_message = 100});
  ASSERT_EQ(all.back().size(), 50U);
  const std::vector<std::uint64_t> hidden{4 * 416, 200};
  for (std::size_t a = 0; a < 2; ++a) {
    const auto& sent = parties.at_a(a).sent();
    const auto& received = parties.at_a(a).received();
    EXPECT_EQ(sent.at(steps::kIdCount), (net::Traffic{1, 8}));
    EXPECT_EQ(sent.at(steps::kAlignmentNonces), (net::Traffic{1, 32}));
    EXPECT_EQ(received.at(steps::kAlignmentNonces), (net::Traffic{1, 64}));
    EXPECT_EQ(sent.at(steps::kHiddenIds), (net::Traffic{(hidden[a] + 199) / 200, 16 * hidden[a]}));
    EXPECT_EQ(received.at(steps::kBlindedIds), (net::Traffic{1, 32 * 50}));
    EXPECT_EQ(sent.at(steps::kAnsweredIds), (net::Traffic{1, 32 * 50}));
    EXPECT_EQ(received.at(steps::kCommonCount), (net::Traffic{1, 8}));
    EXPECT_EQ(received.at(steps::kCommonIds), (net::Traffic{1, 16 * 50}));
    EXPECT_EQ(sent.at(steps::kOrderProofs), (net::Traffic{1, 32}));
    EXPECT_EQ(received.at(steps::kOrderProofs), (net::Traffic{1, 16}));
    EXPECT_FALSE(sent.contains(steps::kDoubleBlindedIds));
  }
}

TEST(KeptAlignmentOfAll, IsTheNewestOfTheFirstAsThatAllHave) {
  const auto id = [](int n) { return alignment_id("scoring " + std::to_string(n)); };
  struct Case {
    std::vector<AlignmentOffer> of_a;
    AlignmentOffer of_b;
    std::optional<AlignmentId> common;
  };
  const std::vector<Case> cases{
      {{{id(3), id(2), id(1)}, {id(1), id(2), id(3)}}, {id(1), id(2)}, id(2)},
      {{{id(3)}, {id(2)}}, {id(2), id(3)}, std::nullopt},
      {{{}, {}}, {}, std::nullopt},
      {{{id(2), id(1)}}, {id(1), id(2)}, id(2)},
      {{{id(1), id(2)}, {id(2)}, {id(4), id(2)}}, {id(9), id(2)}, id(2)},
  };
  for (const Case& c : cases) {
    StarOfParties parties(c.of_a.size());
    std::vector<std::optional<AlignmentId>> found(c.of_a.size() + 1);
    const auto thrown =
        parties.run([&](Session& s, std::size_t a) { found[a] = agree_on_kept_alignment(s, c.of_a[a]); },
                    [&](const Sessions& s) { found.back() = agree_on_kept_alignment(s, c.of_b); });
    EXPECT_THAT(thrown, Each(nullptr));
    EXPECT_THAT(found, Each(c.common));
    // No A learns what another has, nor what B has: only which one it is.
    if (c.of_a.size() == 1) continue;
    for (std::size_t a = 0; a < c.of_a.size(); ++a) {
      for (const testing::RecordedMessage& m : parties.at_a(a).messages()) {
        if (m.message.step != steps::kKeptAlignments || m.direction != net::Direction::kReceived) continue;
        EXPECT_EQ(read_alignment_offer(*std::make_unique<BufferSource>(m.payload)),
                  c.common ? AlignmentOffer{*c.common} : AlignmentOffer{});
      }
    }
  }
}

}  // namespace
}  // namespace blindfl::protocol::psi_all_test
