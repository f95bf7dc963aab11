// A peer that sends other points than it should: the receiver gets an error of the right type, and never an alignment.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/protocol/align/psi_points.h"
#include "protocol/psi_fixture.h"
#include "testing/steps.h"
#include "testing/tampering_transport.h"
#include "testing/thrown.h"

namespace blindfl::protocol::psi_hostile_test {
namespace {

using net::Step;
using ::testing::HasSubstr;
using testing::Tampering;
using testing::TamperingTransport;

constexpr std::size_t kIds = 5;  ///< at each party

/// A whole alignment in which `party`'s bytes are tampered with. Returns how many it sent.
std::uint64_t run_tampered(AlignmentKind kind, Party party, const Tampering& tampering) {
  const testing::PlainScheme scheme;
  auto channels = net::make_memory_channels();
  auto& spoilt = party == Party::kA ? channels.first : channels.second;
  const auto tampered = std::make_shared<TamperingTransport>(spoilt->transport(), tampering);
  spoilt = std::make_unique<net::Channel>(tampered);
  testing::TwoParties parties(scheme, std::move(channels), testing::Record::kNo);
  (void)align_both(parties, make_ids({3, 3, 1}), {.kind = kind, .ids_per_message = 2});
  return tampered->sent_bytes().size();
}

TEST(HostileAlignment, EveryFlippedBitIsAProtocolError) {
  for (const AlignmentKind kind : kAllKinds) {
    for (const Party party : {Party::kA, Party::kB}) {
      const std::uint64_t bytes = run_tampered(kind, party, {});
      for (std::uint64_t i = 0; i < bytes; i += bytes / 40) {
        EXPECT_THROW(run_tampered(kind, party, {.flip_bit = 8 * i + i % 8}), ProtocolError) << "byte " << i;
      }
    }
  }
}

TEST(HostileAlignment, EveryTruncationIsATransportError) {
  for (const AlignmentKind kind : kAllKinds) {
    for (const Party party : {Party::kA, Party::kB}) {
      const std::uint64_t bytes = run_tampered(kind, party, {});
      for (std::uint64_t i = 1; i < bytes; i += bytes / 40) {
        EXPECT_THROW(run_tampered(kind, party, {.cut_after = i}), TransportError) << "after byte " << i;
      }
    }
  }
}

/// Messages of a peer with `kIds` ids that knows nothing of the other's: every list is points of its own making.
struct HostilePeer {
  std::uint64_t count = kIds;
  std::map<Step, std::function<void(Points&)>> spoil = {};

  void run(Session& session, AlignmentKind kind) const {
    session.agree("the alignment", Settings().add("kind", name_of(kind)).add("ids_per_message", std::uint64_t{8}));
    session.settle();
    session.channel().send({steps::kIdCount, 0, 8}, [&](ByteSink& out) { out.write_u64(count); });
    std::vector<Step> steps{steps::kBlindedIds, steps::kDoubleBlindedIds};
    if (kind == AlignmentKind::kUnion)
      steps.insert(steps.end(), {steps::kShuffledIds, steps::kMissingIds, steps::kNamedIds});
    for (const Step step : steps) send(session, step);
    if (kind != AlignmentKind::kOnlyB) session.channel().send({steps::kAlignedOrder, 0, 32}, Bytes(32));
  }

 private:
  void send(Session& session, Step step) const {
    Ids ids(kIds);
    std::vector<std::uint32_t> rows(kIds);
    for (std::uint32_t i = 0; i < kIds; ++i) {
      ids[i] = std::to_string(i) + "th of a hostile peer";
      rows[i] = i;
    }
    Random random = session.random();
    const BlindingKey key(random);
    Points points = key.multiply(hash_to_points(ids, rows, session.pool()), session.pool());
    if (spoil.contains(step)) spoil.at(step)(points);
    const ByteView view = std::as_bytes(std::span(points));
    Bytes bytes(view.begin(), view.end());
    session.channel().send({step, 0, bytes.size()}, bytes);
  }
};

/// What `party` says of a peer.
std::string error_of(Party party, AlignmentKind kind, const HostilePeer& peer) {
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  const Ids ids = make_ids({kIds, 0, 0}).first;
  const auto honest = [&](Session& s) -> std::string {
    std::string error = testing::message_of<ProtocolError>([&] { (void)align(s, ids, options_of(kind)); });
    EXPECT_THROW(s.channel().send({net::steps::kPing, 0, 0}, Bytes()), TransportError) << "the peer is left waiting";
    return error;
  };
  const auto hostile = [&](Session& s) -> std::string {
    try {
      peer.run(s, kind);
    } catch (const TransportError&) {  // the honest party stopped listening
    }
    return {};
  };
  return party == Party::kA ? parties.run(honest, hostile).first : parties.run(hostile, honest).second;
}

/// Which party receives lists of points of these steps.
struct Receiver {
  Party party;
  AlignmentKind kind;
  std::vector<Step> steps;
};
const std::vector<Receiver> kReceivers{
    {Party::kA, AlignmentKind::kBoth, {steps::kBlindedIds, steps::kDoubleBlindedIds}},
    {Party::kB, AlignmentKind::kBoth, {steps::kBlindedIds, steps::kDoubleBlindedIds}},
    {Party::kA, AlignmentKind::kOnlyB, {steps::kBlindedIds}},
    {Party::kB, AlignmentKind::kOnlyB, {steps::kBlindedIds, steps::kDoubleBlindedIds}},
    {Party::kA,
     AlignmentKind::kUnion,
     {steps::kBlindedIds, steps::kDoubleBlindedIds, steps::kShuffledIds, steps::kMissingIds, steps::kNamedIds}},
};

/// Each list that is received, spoilt in one way, is refused with these words.
void expect_refused(const std::function<void(Points&)>& spoil, const std::string& words) {
  for (const Receiver& receiver : kReceivers) {
    for (const Step step : receiver.steps) {
      const std::string error = error_of(receiver.party, receiver.kind, {.spoil = {{step, spoil}}});
      EXPECT_THAT(error, HasSubstr(words)) << name_of(receiver.kind);
      EXPECT_THAT(error, HasSubstr(net::name_of(step))) << name_of(receiver.kind);
    }
  }
}

// The peer announces ids and sends none: whoever computed or waited for one would wait for ever.
TEST(HostileAlignment, TooManyIdsAreRefusedBeforeAnythingIsSentOrComputed) {
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  const Ids ids = make_ids({kIds, 0, 0}).first;
  AlignmentOptions options = options_of(AlignmentKind::kBoth);
  options.check_peer_ids = [](std::uint64_t theirs) { require<ConfigError>(theirs <= 6, "too many: ", theirs); };
  const auto honest = [&](Session& s) {
    return testing::message_of<ConfigError>([&] { (void)align(s, ids, options); });
  };
  const auto hostile = [](Session& s) -> std::string {
    s.agree("the alignment", Settings().add("kind", "both").add("ids_per_message", std::uint64_t{8}));
    s.settle();
    s.channel().send({steps::kIdCount, 0, 8}, [](ByteSink& out) { out.write_u64(7); });
    (void)s.channel().receive({steps::kIdCount, 0, 8});
    EXPECT_THROW((void)s.channel().receive({steps::kBlindedIds, 0, kIds * sizeof(Point)}), TransportError);
    return {};
  };
  EXPECT_EQ(parties.run(honest, hostile).first, "too many: 7");
}

TEST(HostileAlignment, WhatIsNotAPointIsRefused) {
  expect_refused([](Points& points) { points[3].fill(std::byte{0xFF}); }, "not all points");
}

TEST(HostileAlignment, TheIdentityIsRefused) {
  expect_refused([](Points& points) { points[0] = Point{}; }, "not all points");
}

TEST(HostileAlignment, EqualPointsAreRefused) {
  expect_refused([](Points& points) { points[4] = points[1]; }, "are equal");
}

TEST(HostileAlignment, MorePointsOrFewerThanAnnouncedAreRefused) {
  expect_refused([](Points& points) { points.pop_back(); }, "has 128 bytes, expected 160");
  expect_refused([](Points& points) { points.insert(points.begin(), points.back()); }, "has 192 bytes, expected 160");
}

TEST(HostileAlignment, ACountOfMoreIdsThanCanBeAlignedIsRefused) {
  for (const std::uint64_t count : {kMostIds + 1, ~std::uint64_t{0}}) {
    EXPECT_THAT(error_of(Party::kA, AlignmentKind::kBoth, {.count = count}), HasSubstr("more than the"));
  }
  // A count that is allowed makes nobody allocate: the first message is too short for it.
  EXPECT_THAT(error_of(Party::kA, AlignmentKind::kBoth, {.count = kMostIds}), HasSubstr("has 160 bytes, expected 256"));
}

TEST(HostileAlignment, PointsThatBelongToNoIdEndInDifferentOrders) {
  for (const AlignmentKind kind : {AlignmentKind::kBoth, AlignmentKind::kUnion}) {
    EXPECT_THAT(error_of(Party::kA, kind, {}), HasSubstr("different orders"));
    EXPECT_THAT(error_of(Party::kB, kind, {}), HasSubstr("different orders"));
  }
}

}  // namespace
}  // namespace blindfl::protocol::psi_hostile_test
