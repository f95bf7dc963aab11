#include "blindfl/protocol/align/psi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/protocol/align/psi_points.h"
#include "protocol/psi_fixture.h"
#include "testing/steps.h"
#include "testing/thrown.h"

namespace blindfl::protocol::psi_test {
namespace {

using net::Step;
using ::testing::Each;
using ::testing::HasSubstr;

/// Runs one alignment, and keeps what crossed.
class Aligned {
 public:
  Aligned(const IdSets& sets, const AlignmentOptions& options) : Aligned(make_ids(sets), options) {}
  Aligned(std::pair<Ids, Ids> both, const AlignmentOptions& options) : ids(std::move(both)) {
    std::tie(a, b) = align_both(parties_, ids, options);
  }

  [[nodiscard]] const std::string& id_at_a(std::size_t place) const { return ids.first[a.rows[place]]; }
  [[nodiscard]] const std::string& id_at_b(std::size_t place) const { return ids.second[b.rows[place]]; }
  [[nodiscard]] std::vector<testing::RecordedMessage> messages(Party party) const {
    return parties_.recording(party).messages();
  }
  /// All points that crossed, each as often as it did.
  [[nodiscard]] std::map<Point, int> points() const {
    std::map<Point, int> counts;
    for (const testing::RecordedMessage& m : messages(Party::kA)) {
      if (m.message.step < steps::kBlindedIds || m.message.step > steps::kNamedIds) continue;
      for (std::size_t i = 0; i < m.payload.size(); i += sizeof(Point)) {
        Point point;
        std::copy_n(m.payload.begin() + static_cast<std::ptrdiff_t>(i), sizeof(Point), point.begin());
        ++counts[point];
      }
    }
    return counts;
  }
  [[nodiscard]] std::map<Step, net::Traffic> sent(Party party) const { return parties_.recording(party).sent(); }

  std::pair<Ids, Ids> ids;
  Alignment a;
  Alignment b;

 private:
  testing::PlainScheme scheme_;
  testing::TwoParties parties_{scheme_};
};

const std::vector<IdSets> kSets{{20, 30, 0}, {20, 30, 13}, {17, 17, 17}, {40, 9, 9}, {8, 31, 8}, {1, 1, 1}, {1, 1, 0}};

TEST(Alignment, OfBothHasTheCommonIdsInOneOrder) {
  std::vector<IdSets> sets = kSets;
  sets.insert(sets.end(), {{0, 0, 0}, {5, 0, 0}, {0, 20, 0}});
  for (const IdSets& s : sets) {
    const Aligned run(s, options_of(AlignmentKind::kBoth));
    ASSERT_EQ(run.a.size(), s.common);
    ASSERT_EQ(run.b.size(), s.common);
    std::set<std::string> seen;
    for (std::size_t i = 0; i < s.common; ++i) {
      EXPECT_EQ(run.id_at_a(i), run.id_at_b(i));
      EXPECT_TRUE(seen.insert(run.id_at_a(i)).second);
    }
    EXPECT_THAT(run.a.real, Each(true));
    EXPECT_THAT(run.b.real, Each(true));
  }
}

TEST(Alignment, OfOnlyBHasAllOfAsRowsAndTellsBWhichItHas) {
  for (const IdSets& s : kSets) {
    const Aligned run(s, options_of(AlignmentKind::kOnlyB));
    ASSERT_EQ(run.a.size(), s.a);
    ASSERT_EQ(run.b.size(), s.a);
    EXPECT_THAT(run.a.real, Each(true));
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(run.b.real, true)), s.common);
    std::set<std::uint32_t> rows_of_a;
    std::map<std::uint32_t, std::size_t> rows_of_b;
    for (std::size_t i = 0; i < s.a; ++i) {
      EXPECT_EQ(run.id_at_a(i) == run.id_at_b(i), run.b.real[i]);
      rows_of_a.insert(run.a.rows[i]);
      ++rows_of_b[run.b.rows[i]];
    }
    EXPECT_EQ(rows_of_a.size(), s.a);
    EXPECT_EQ(rows_of_b.size(), std::min(s.a, s.b)) << "a row is a placeholder twice although another was left";
  }
}

TEST(Alignment, OfTheUnionHasEveryIdOnce) {
  for (const IdSets& s : kSets) {
    const Aligned run(s, options_of(AlignmentKind::kUnion));
    ASSERT_EQ(run.a.size(), s.a + s.b - s.common);
    ASSERT_EQ(run.b.size(), run.a.size());
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(run.a.real, true)), s.a);
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(run.b.real, true)), s.b);
    std::set<std::string> seen;
    for (std::size_t i = 0; i < run.a.size(); ++i) {
      ASSERT_TRUE(run.a.real[i] || run.b.real[i]);
      if (run.a.real[i] && run.b.real[i]) {
        EXPECT_EQ(run.id_at_a(i), run.id_at_b(i));
      }
      EXPECT_TRUE(seen.insert(run.a.real[i] ? run.id_at_a(i) : run.id_at_b(i)).second);
      EXPECT_LT(run.a.rows[i], s.a);
      EXPECT_LT(run.b.rows[i], s.b);
    }
  }
}

TEST(Alignment, TakesAnyBytesForIds) {
  const Ids odd{"", std::string("\0", 1), std::string("a\0b", 3), "a", "\xFF\xFE", std::string(100000, 'x')};
  for (const AlignmentKind kind : kAllKinds) {
    const Aligned run({odd, Ids(odd.rbegin(), odd.rend())}, options_of(kind));
    ASSERT_EQ(run.a.size(), odd.size());
    for (std::size_t i = 0; i < odd.size(); ++i) EXPECT_EQ(run.id_at_a(i), run.id_at_b(i));
  }
}

TEST(Alignment, SendsNoIdAndNoHashOfOne) {
  for (const AlignmentKind kind : kAllKinds) {
    const Aligned run({20, 15, 7}, options_of(kind));
    ThreadPool pool;
    for (const Ids& ids : {run.ids.first, run.ids.second}) {
      std::vector<std::uint32_t> rows(ids.size());
      for (std::uint32_t i = 0; i < rows.size(); ++i) rows[i] = i;
      const Points hashes = hash_to_points(ids, rows, pool);
      for (const testing::RecordedMessage& m : run.messages(Party::kA)) {
        const auto has = [&](ByteView secret) {
          return std::search(m.payload.begin(), m.payload.end(), secret.begin(), secret.end()) != m.payload.end();
        };
        for (std::size_t i = 0; i < ids.size(); ++i) {
          EXPECT_FALSE(has(as_bytes(ids[i])));
          EXPECT_FALSE(has(hashes[i]));
        }
      }
    }
  }
}

TEST(Alignment, LetsOnlyThoseIdsBeComparedThatItsKindSays) {
  const IdSets sets{20, 15, 7};
  // Equal points on the way are what an onlooker of both directions can match: of the common ids, or of none.
  const std::map<AlignmentKind, std::size_t> repeated{
      {AlignmentKind::kBoth, 7}, {AlignmentKind::kOnlyB, 0}, {AlignmentKind::kUnion, 7}};
  for (const auto& [kind, expected] : repeated) {
    std::size_t twice = 0;
    for (const auto& [point, count] : Aligned(sets, options_of(kind)).points()) {
      EXPECT_LE(count, 2);
      twice += count == 2 ? 1 : 0;
    }
    EXPECT_EQ(twice, expected) << name_of(kind);
  }
}

TEST(Alignment, HasFreshBlindingAndAFreshOrderEachTime) {
  const IdSets sets{20, 20, 20};
  for (const AlignmentKind kind : kAllKinds) {
    const Aligned first(sets, options_of(kind));
    const Aligned second(sets, options_of(kind));
    EXPECT_NE(first.a.rows, second.a.rows);
    EXPECT_NE(first.b.rows, second.b.rows);
    const auto points = second.points();
    for (const auto& [point, count] : first.points()) EXPECT_FALSE(points.contains(point));
  }
}

TEST(Alignment, SendsAsRowsInAnOrderThatTellsNothing) {
  // Under kOnlyB the order sent is the order of the result. Where do A's first rows go?
  double sum = 0;
  for (int i = 0; i < 20; ++i) {
    const Aligned run({30, 1, 0}, {.kind = AlignmentKind::kOnlyB});
    const auto place = std::ranges::find(run.a.rows, 0U) - run.a.rows.begin();
    sum += static_cast<double>(place);
    EXPECT_FALSE(std::ranges::is_sorted(run.a.rows));
  }
  // 14.5 expected, with a deviation of 1.9.
  EXPECT_NEAR(sum / 20, 14.5, 11);
}

std::vector<net::Message> shape_of(const std::vector<testing::RecordedMessage>& messages, net::Direction direction) {
  std::vector<net::Message> shape;
  for (const testing::RecordedMessage& m : messages) {
    if (m.direction == direction) shape.push_back(m.message);
  }
  return shape;
}

TEST(AlignmentContract, WhereOnlyBLearnsAsViewIsTheSameWhateverTheOverlap) {
  const Aligned none({20, 15, 0}, options_of(AlignmentKind::kOnlyB));
  for (const std::size_t common : {1U, 7U, 15U}) {
    const Aligned some({20, 15, common}, options_of(AlignmentKind::kOnlyB));
    for (const auto direction : {net::Direction::kReceived, net::Direction::kSent}) {
      EXPECT_EQ(shape_of(some.messages(Party::kA), direction), shape_of(none.messages(Party::kA), direction));
    }
    // All points that A gets are B's blinded ids: nothing that A sent comes back, so it has nothing to compare them to.
    EXPECT_FALSE(some.sent(Party::kB).contains(steps::kDoubleBlindedIds));
    EXPECT_EQ(some.sent(Party::kB).at(steps::kBlindedIds).bytes, 15 * sizeof(Point));
    EXPECT_FALSE(some.sent(Party::kB).contains(steps::kAlignedOrder));
  }
}

TEST(AlignmentContract, OfTheUnionTellsOnlyHowManyIdsAreCommon) {
  const auto steps = [](const std::map<Step, net::Traffic>& sent) {
    std::map<Step, std::uint64_t> points;
    for (const auto& [step, traffic] : sent) {
      if (step >= steps::kBlindedIds && step <= steps::kNamedIds) points[step] = traffic.bytes / sizeof(Point);
    }
    return points;
  };
  const Aligned run({20, 15, 7}, options_of(AlignmentKind::kUnion));
  using Counts = std::map<Step, std::uint64_t>;
  EXPECT_EQ(steps(run.sent(Party::kA)), (Counts{{steps::kBlindedIds, 20},
                                                {steps::kDoubleBlindedIds, 15},
                                                {steps::kShuffledIds, 15},
                                                {steps::kMissingIds, 8},
                                                {steps::kNamedIds, 13}}));
  EXPECT_EQ(steps(run.sent(Party::kB)), (Counts{{steps::kBlindedIds, 15},
                                                {steps::kDoubleBlindedIds, 20},
                                                {steps::kShuffledIds, 20},
                                                {steps::kMissingIds, 13},
                                                {steps::kNamedIds, 8}}));
}

TEST(Alignment, CostsWhatItsHeaderSays) {
  const Aligned run({20, 15, 7}, options_of(AlignmentKind::kBoth));
  for (const Party party : {Party::kA, Party::kB}) {
    const auto sent = run.sent(party);
    const std::uint64_t own = party == Party::kA ? 20 : 15;
    EXPECT_EQ(sent.at(steps::kIdCount), (net::Traffic{1, 8}));
    EXPECT_EQ(sent.at(steps::kBlindedIds), (net::Traffic{(own + 7) / 8, 32 * own}));
    EXPECT_EQ(sent.at(steps::kDoubleBlindedIds), (net::Traffic{(35 - own + 7) / 8, 32 * (35 - own)}));
    EXPECT_EQ(sent.at(steps::kAlignedOrder), (net::Traffic{1, 32}));
  }
}

TEST(Alignment, RefusesRepeatedIdsBeforeAnythingIsSent) {
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  const Ids ids{"anna", "bert", "anna", "bert", "carl"};
  const std::string message = testing::message_of<DataError>([&] { (void)align(parties.session(Party::kA), ids); });
  EXPECT_THAT(message, HasSubstr("2 of 5 ids"));
  EXPECT_THAT(message, ::testing::Not(HasSubstr("anna")));
  EXPECT_FALSE(parties.recording(Party::kA).sent().contains(steps::kAgreement));
  // The link is as good as before.
  const auto aligned = align_both(parties, {{"anna"}, {"anna"}}, {});
  EXPECT_EQ(aligned.first.size(), 1U);
}

TEST(Alignment, NeedsAnIdAtEachPartyWhereRowsStandIn) {
  for (const AlignmentKind kind : {AlignmentKind::kOnlyB, AlignmentKind::kUnion}) {
    for (const IdSets& sets : {IdSets{3, 0, 0}, IdSets{0, 3, 0}}) {
      const testing::PlainScheme scheme;
      testing::TwoParties parties(scheme);
      const auto ids = make_ids(sets);
      const auto says = [&](Session& s) {
        return testing::message_of<DataError>(
            [&] { (void)align(s, s.party() == Party::kA ? ids.first : ids.second, options_of(kind)); });
      };
      const auto [at_a, at_b] = parties.run(says);
      EXPECT_THAT(at_a, HasSubstr("at least one id at each party"));
      EXPECT_THAT(at_b, HasSubstr("at least one id at each party"));
      EXPECT_FALSE(parties.recording(Party::kA).sent().contains(steps::kBlindedIds));
      EXPECT_FALSE(parties.recording(Party::kB).sent().contains(steps::kBlindedIds));
    }
  }
}

TEST(Alignment, StopsBeforeAnIdLeavesWhereThePartiesWantDifferentKinds) {
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  const Ids ids{"anna"};
  const auto says = [&](Session& s) {
    const bool at_a = s.party() == Party::kA;
    return testing::message_of<ConfigError>(
        [&] { (void)align(s, ids, {.kind = at_a ? AlignmentKind::kBoth : AlignmentKind::kOnlyB}); });
  };
  const auto [at_a, at_b] = parties.run(says);
  EXPECT_THAT(at_a, HasSubstr("the alignment: kind is both here and only B at the peer"));
  EXPECT_THAT(at_b, HasSubstr("the alignment: kind is only B here and both at the peer"));
  EXPECT_FALSE(parties.recording(Party::kA).sent().contains(steps::kIdCount));
}

TEST(Alignment, RefusesMessagesWithoutIdsOrTooLongOnes) {
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1} << 21}) {
    EXPECT_THROW((void)align(parties.session(Party::kA), Ids{"anna"}, {.ids_per_message = size}), InvalidArgument);
  }
}

TEST(Alignment, TellsItsProgressUpToTheEnd) {
  for (const AlignmentKind kind : kAllKinds) {
    const testing::PlainScheme scheme;
    testing::TwoParties parties(scheme);
    const auto ids = make_ids({20, 33, 10});
    const auto [at_a, at_b] = parties.run([&](Session& s) {
      std::vector<AlignmentProgress> reports;
      AlignmentOptions options = options_of(kind);
      options.observer = [&](const AlignmentProgress& progress) { reports.push_back(progress); };
      (void)align(s, s.party() == Party::kA ? ids.first : ids.second, options);
      return reports;
    });
    for (const auto& reports : {at_a, at_b}) {
      ASSERT_GE(reports.size(), 8U) << "both lists take several messages";
      EXPECT_TRUE(std::ranges::is_sorted(reports, {}, &AlignmentProgress::done));
      for (const AlignmentProgress& report : reports) EXPECT_EQ(report.total, reports.back().total);
      EXPECT_EQ(reports.back().done, reports.back().total) << name_of(kind);
    }
  }
}

TEST(Alignment, WorksOverALinkThatTakesLittleAtOnceAndWithSeveralThreads) {
  for (const AlignmentKind kind : kAllKinds) {
    const testing::PlainScheme scheme;
    const auto channels = net::make_memory_channels(/*capacity=*/100);
    const auto ids = make_ids({40, 70, 25});
    const auto as = [&](Party party, net::Channel& channel, const Ids& own) {
      return [&, party] {
        Session session(party, channel, scheme, {.threads = 2});
        return align(session, own, options_of(kind));
      };
    };
    const auto [a, b] = run_both(as(Party::kA, *channels.first, ids.first), as(Party::kB, *channels.second, ids.second),
                                 [&] { channels.first->close(); });
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a.real[i] && b.real[i]) {
        EXPECT_EQ(ids.first[a.rows[i]], ids.second[b.rows[i]]);
      }
    }
  }
}

TEST(Alignment, CanBeDoneAgainInTheSameSession) {
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  const auto ids = make_ids({10, 12, 6});
  for (const AlignmentKind kind : kAllKinds) (void)align_both(parties, ids, options_of(kind));
  const auto [a, b] = align_both(parties, ids, options_of(AlignmentKind::kBoth));
  EXPECT_EQ(a.size(), 6U);
  // Layers made afterwards have the numbers that they have without an alignment, and so the same initial weights.
  EXPECT_EQ(parties.session(Party::kA).new_layer(), 0U);
}

}  // namespace
}  // namespace blindfl::protocol::psi_test
