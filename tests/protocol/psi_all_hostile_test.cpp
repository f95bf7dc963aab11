// A party that sends other things than it should while the ids of all are aligned: B says which A it was, nobody waits,
// and nobody ends with an alignment.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/protocol/align/psi_all_parties.h"
#include "blindfl/protocol/align/psi_all_steps.h"
#include "protocol/psi_all_fixture.h"
#include "testing/forging_transport.h"
#include "testing/steps.h"
#include "testing/tampering_transport.h"
#include "testing/thrown.h"

namespace blindfl::protocol::psi_all_hostile_test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::Tampering;
using testing::TamperingTransport;

template <class E>
bool is(const std::exception_ptr& thrown) {
  if (!thrown) return false;
  try {
    std::rethrow_exception(thrown);
  } catch (const E&) {
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

Ids numbered(std::size_t first, std::size_t count) {
  Ids ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back("person number " + std::to_string(first + i));
  return ids;
}

const IdsOfAll& few_ids() {
  static const IdsOfAll ids{{numbered(0, 3), numbered(1, 3)}, numbered(2, 3)};
  return ids;
}

/// A whole alignment in which what this end of the second A's link sends is tampered with.
struct Tampered {
  std::uint64_t bytes = 0;  ///< that it sent
  std::vector<std::exception_ptr> thrown;
};

Tampered run_tampered(Party party, const Tampering& tampering) {
  std::shared_ptr<TamperingTransport> tampered;
  const auto make_link = [&](std::size_t a) {
    testing::Channels channels = net::make_memory_channels();
    if (a == 1) {
      auto& spoilt = party == Party::kA ? channels.first : channels.second;
      tampered = std::make_shared<TamperingTransport>(spoilt->transport(), tampering);
      spoilt = std::make_unique<net::Channel>(tampered);
    }
    return channels;
  };
  Tampered result;
  try {
    StarOfParties parties(2, make_link);
    const std::vector<AlignedPeers> peers = peers_of(2);
    const AlignmentOptions options{.ids_per_message = 2};
    result.thrown =
        parties.run([&](Session& s, std::size_t a) { (void)align_all(s, few_ids().a[a], peers[a], options); },
                    [&](const Sessions& s) { (void)align_all(s, few_ids().b, {.names = peers[0].names}, options); });
  } catch (const Error&) {  // before the alignment began
    result.thrown.push_back(std::current_exception());
  }
  result.bytes = tampered->sent_bytes().size();
  return result;
}

TEST(HostileAlignmentOfAll, EveryFlippedBitIsAProtocolError) {
  for (const Party party : {Party::kA, Party::kB}) {
    const std::uint64_t bytes = run_tampered(party, {}).bytes;
    for (std::uint64_t i = 0; i < bytes; i += bytes / 40) {
      const auto thrown = run_tampered(party, {.flip_bit = 8 * i + i % 8}).thrown;
      EXPECT_TRUE(std::ranges::any_of(thrown, is<ProtocolError>)) << "byte " << i;
      if (thrown.size() > 1 && party == Party::kA) {
        EXPECT_THAT(words_of(thrown.back()), StartsWith("A2: ")) << "byte " << i;
      }
    }
  }
}

TEST(HostileAlignmentOfAll, EveryTruncationEndsItForEverybody) {
  for (const Party party : {Party::kA, Party::kB}) {
    const std::uint64_t bytes = run_tampered(party, {}).bytes;
    for (std::uint64_t i = 1; i < bytes; i += bytes / 40) {
      const auto thrown = run_tampered(party, {.cut_after = i}).thrown;
      EXPECT_TRUE(std::ranges::any_of(thrown, is<TransportError>)) << "after byte " << i;
      // Who lacks only the last message cannot know; everybody else does.
      if (thrown.size() > 1 && party == Party::kA) {
        EXPECT_THAT(words_of(thrown.back()), StartsWith("A2: ")) << "after byte " << i;
        EXPECT_TRUE(is<TransportError>(thrown[0])) << "after byte " << i;
      }
    }
  }
}

constexpr std::size_t kIds = 5;  ///< of everybody
constexpr std::uint64_t kPerMessage = 8;
const AlignmentOptions kOptions{.ids_per_message = kPerMessage};

Points points_of(Session& session, std::size_t count) {
  std::vector<std::uint32_t> rows(count);
  for (std::uint32_t i = 0; i < count; ++i) rows[i] = i;
  Random random = session.random();
  return BlindingKey(random).multiply(hash_to_points(numbered(70, count), rows, session.pool()), session.pool());
}

void send_points(Session& session, net::Step step, const Points& points) {
  const ByteView view = std::as_bytes(std::span(points));
  session.channel().send({step, 0, view.size()}, view);
}

/// The first of two A's, which sends what it likes, spoilt in one way.
struct HostileA {
  std::uint64_t count = kIds;
  std::function<void(std::vector<UInt128>&)> spoil_hidden = [](auto&) {};
  std::function<void(Points&)> spoil_answers = [](auto&) {};
  /// After so many of its messages: it leaves.
  int leaves_after = std::numeric_limits<int>::max();

  void run(Session& session) const {
    int sent = 0;
    const auto leaves = [&] { return sent++ >= leaves_after; };
    agree_on_all(session, 0, 2, kOptions);
    net::Channel& channel = session.channel();
    if (leaves()) return;
    channel.send({steps::kIdCount, 0, 8}, [&](ByteSink& out) { out.write_u64(count); });
    (void)channel.receive({steps::kIdCount, 0, 8});
    if (leaves()) return;
    channel.send({steps::kAlignmentNonces, 0, 32}, Bytes(32));
    (void)channel.receive({steps::kAlignmentNonces, 0, 64});
    if (leaves()) return;
    std::vector<UInt128> hidden(kIds, 7);
    spoil_hidden(hidden);
    channel.send({steps::kHiddenIds, 0, 16 * hidden.size()}, [&](ByteSink& out) { out.write_u128(hidden); });
    if (leaves()) return;
    (void)channel.receive({steps::kBlindedIds, 0, 32 * kIds});
    Points answers = points_of(session, kIds);
    spoil_answers(answers);
    send_points(session, steps::kAnsweredIds, answers);
    (void)channel.receive({steps::kCommonCount, 0, 8});
    if (leaves()) return;
    const std::vector<UInt128> proofs{1, 1};
    channel.send({steps::kOrderProofs, 0, 32}, [&](ByteSink& out) { out.write_u128(proofs); });
    (void)channel.receive({steps::kOrderProofs, 0, 16});
  }
};

struct Ends {
  std::string at_b;
  std::exception_ptr of_b;
  std::exception_ptr of_second;
};

/// How B, and an honest second A, end.
Ends ends_with(const HostileA& hostile, AlignmentOptions options = kOptions) {
  StarOfParties parties(2);
  const std::vector<AlignedPeers> peers = peers_of(2);
  const auto thrown = parties.run(
      [&](Session& s, std::size_t a) {
        if (a == 1) return (void)align_all(s, numbered(0, kIds), peers[1], kOptions);
        hostile.run(s);
        s.channel().close();
      },
      [&](const Sessions& s) { (void)align_all(s, numbered(0, kIds), {.names = peers[0].names}, options); });
  for (std::size_t a = 0; a < 2; ++a) {
    EXPECT_THROW(parties.of_b().begin()[a]->channel().send({net::steps::kPing, 0, 0}, Bytes()), TransportError);
  }
  return {words_of(thrown.back()), thrown.back(), thrown[1]};
}

void expect_refused_by_b(const HostileA& hostile, const std::string& words) {
  const Ends ends = ends_with(hostile);
  EXPECT_TRUE(is<ProtocolError>(ends.of_b)) << words;
  EXPECT_THAT(ends.at_b, StartsWith("A1: "));
  EXPECT_THAT(ends.at_b, HasSubstr(words));
  EXPECT_TRUE(is<TransportError>(ends.of_second)) << "the other A is left waiting, or ends with an alignment";
}

TEST(HostileA, WhatIsNoHiddenNumberIsRefused) {
  expect_refused_by_b({.spoil_hidden = [](auto& numbers) { numbers[4] = kFieldPrime; }}, "below 2^127 - 1");
  expect_refused_by_b({.spoil_hidden = [](auto& numbers) { numbers.pop_back(); }}, "has 64 bytes, expected 80");
  expect_refused_by_b({.spoil_hidden = [](auto& numbers) { numbers.push_back(0); }}, "has 96 bytes, expected 80");
}

TEST(HostileA, WhatIsNoAnswerIsRefused) {
  const std::vector<std::pair<std::function<void(Points&)>, std::string>> cases{
      {[](Points& p) { p[3].fill(std::byte{0xFF}); }, "answered ids are not all points"},
      {[](Points& p) { p[0] = Point{}; }, "answered ids are not all points"},
      {[](Points& p) { p[4] = p[1]; }, "answers are equal"},
      {[](Points& p) { p.pop_back(); }, "has 128 bytes, expected 160"},
      {[](Points& p) { p.push_back(p[0]); }, "has 192 bytes, expected 160"},
  };
  for (const auto& [spoil, words] : cases) expect_refused_by_b({.spoil_answers = spoil}, words);
}

TEST(HostileA, ACountOfTooManyIdsIsRefusedAndNothingIsAllocatedForOne) {
  for (const std::uint64_t count : {kMostIds + 1, ~std::uint64_t{0}}) {
    expect_refused_by_b({.count = count}, "more than the");
  }
  // A count that is allowed: the first message is too short for it.
  expect_refused_by_b({.count = kMostIds}, "has 80 bytes, expected 256");
}

TEST(HostileA, TooManyIdsForBsLimitsAreRefusedByName) {
  AlignmentOptions options = kOptions;
  std::vector<std::uint64_t> told;
  options.check_peer_ids = [&](std::uint64_t ids) {
    told.push_back(ids);
    require<ConfigError>(ids <= 6, "too many: ", ids);
  };
  const Ends ends = ends_with({.count = 7}, options);
  EXPECT_TRUE(is<ConfigError>(ends.of_b));
  EXPECT_EQ(ends.at_b, "A1: too many: 7");
  EXPECT_TRUE(is<TransportError>(ends.of_second));
  EXPECT_EQ(told, (std::vector<std::uint64_t>{7}));
}

TEST(HostileA, WhoLeavesIsNamedAndTheOthersDoNotWait) {
  for (int after = 0; after <= 4; ++after) {
    const Ends ends = ends_with({.leaves_after = after});
    EXPECT_TRUE(is<TransportError>(ends.of_b)) << after;
    EXPECT_THAT(ends.at_b, StartsWith("A1: ")) << after;
    EXPECT_TRUE(is<TransportError>(ends.of_second)) << after;
  }
}

// Its points and numbers look right, and belong to nothing: there is nothing in common, and the end says why.
TEST(HostileA, PointsThatBelongToNoIdEndInDifferentOrders) {
  const Ends ends = ends_with({});
  EXPECT_TRUE(is<ProtocolError>(ends.of_b));
  EXPECT_THAT(ends.at_b, HasSubstr("different orders"));
  EXPECT_TRUE(is<ProtocolError>(ends.of_second));
}

TEST(HostileA, OtherSecretsThanTheOthersHaveAreFoundAtTheEnd) {
  StarOfParties parties(3);
  std::vector<AlignedPeers> peers = peers_of(3);
  peers[0].secrets[2][5] ^= std::byte{1};
  const auto thrown = parties.run(
      [&](Session& s, std::size_t a) { (void)align_all(s, numbered(0, kIds), peers[a], kOptions); },
      [&](const Sessions& s) { (void)align_all(s, numbered(0, kIds), {.names = peers[0].names}, kOptions); });
  for (const std::exception_ptr& one : thrown) {
    EXPECT_TRUE(is<ProtocolError>(one) || one == thrown[1]) << words_of(one);  // the second has nothing to complain of
  }
}

/// B with one A of two, which sends what it likes.
struct HostileB {
  std::uint64_t count = kIds;
  std::function<void(Nonces&)> spoil_nonces = [](auto&) {};
  std::function<void(Points&)> spoil_blinded = [](auto&) {};
  std::uint64_t common = 2;
  bool returns_own_proof = false;
  std::function<void(std::vector<PseudonymTag>&)> spoil_tags = [](auto&) {};

  void run(Session& session) const {
    agree_on_all(session, 0, 2, kOptions);
    net::Channel& channel = session.channel();
    channel.send({steps::kIdCount, 0, 8}, [&](ByteSink& out) { out.write_u64(count); });
    (void)channel.receive({steps::kIdCount, 0, 8});
    Nonces nonces(2);
    channel.receive({steps::kAlignmentNonces, 0, 32}, [&](ByteSource& in) { in.read(nonces[0]); });
    spoil_nonces(nonces);
    channel.send({steps::kAlignmentNonces, 0, 32 * nonces.size()}, [&](ByteSink& out) {
      for (const Nonce& nonce : nonces) out.write(nonce);
    });
    (void)channel.receive({steps::kHiddenIds, 0, 16 * kIds});
    // It has the honest A's ids, so that it can name some.
    Random random = session.random();
    const BlindingKey key(random);
    std::vector<std::uint32_t> rows(kIds);
    for (std::uint32_t i = 0; i < kIds; ++i) rows[i] = i;
    Points blinded = key.multiply(hash_to_points(numbered(0, kIds), rows, session.pool()), session.pool());
    spoil_blinded(blinded);
    send_points(session, steps::kBlindedIds, blinded);
    Points answers(kIds);
    channel.receive({steps::kAnsweredIds, 0, 32 * kIds},
                    [&](ByteSource& in) { in.read(std::as_writable_bytes(std::span(answers))); });
    const auto names = pseudonyms_of(key.inverse().multiply(answers, session.pool()), session.pool());
    std::vector<PseudonymTag> tags{names[3].tag, names[0].tag};
    spoil_tags(tags);
    channel.send({steps::kCommonCount, 0, 8}, [&](ByteSink& out) { out.write_u64(common); });
    channel.send({steps::kCommonIds, 0, 16 * tags.size()}, std::as_bytes(std::span(tags)));
    std::vector<UInt128> of_a(2);
    channel.receive({steps::kOrderProofs, 0, 32}, [&](ByteSource& in) { in.read_u128(of_a); });
    // All that B can make of it: what the A itself says, and what makes its share 0.
    const UInt128 share = returns_own_proof ? of_a[0] : field_difference(0, of_a[1]);
    channel.send({steps::kOrderProofs, 0, 16}, [&](ByteSink& out) { out.write_u128({&share, 1}); });
  }
};

std::string error_of_a(const HostileB& hostile) {
  StarOfParties parties(1);
  const AlignedPeers peers = peers_of(2)[0];
  const auto thrown =
      parties.run([&](Session& s, std::size_t) { (void)align_all(s, numbered(0, kIds), peers, kOptions); },
                  [&](const Sessions& s) { hostile.run(**s.begin()); });
  EXPECT_TRUE(is<ProtocolError>(thrown[0]));
  EXPECT_THROW(parties.of_a(0).channel().send({net::steps::kPing, 0, 0}, Bytes()), TransportError);
  return words_of(thrown[0]);
}

TEST(HostileB, NoncesThatAreNotOfThisAlignmentAreRefused) {
  EXPECT_THAT(error_of_a({.spoil_nonces = [](Nonces& n) { n[0].fill(std::byte{1}); }}),
              HasSubstr("came back as another"));
  EXPECT_THAT(error_of_a({.spoil_nonces = [](Nonces& n) { n[1] = n[0]; }}), HasSubstr("the same random number"));
  EXPECT_THAT(error_of_a({.spoil_nonces = [](Nonces& n) { n.pop_back(); }}), HasSubstr("has 32 bytes, expected 64"));
}

TEST(HostileB, WhatIsNotBlindedIdsIsRefused) {
  const std::vector<std::pair<std::function<void(Points&)>, std::string>> cases{
      {[](Points& p) { p[3].fill(std::byte{0xFF}); }, "blinded ids are not all points"},
      {[](Points& p) { p[0] = Point{}; }, "blinded ids are not all points"},
      {[](Points& p) { p[4] = p[1]; }, "blinded ids are equal"},
      {[](Points& p) { p.pop_back(); }, "has 128 bytes, expected 160"},
      {[](Points& p) { p.push_back(p[0]); }, "has 192 bytes, expected 160"},
  };
  for (const auto& [spoil, words] : cases) EXPECT_THAT(error_of_a({.spoil_blinded = spoil}), HasSubstr(words));
}

TEST(HostileB, IdsThatAreNotThisPartysOrComeTwiceAreRefused) {
  EXPECT_THAT(error_of_a({.spoil_tags = [](auto& tags) { tags[1].fill(std::byte{9}); }}),
              HasSubstr("none of this party's"));
  EXPECT_THAT(error_of_a({.spoil_tags = [](auto& tags) { tags[1] = tags[0]; }}), HasSubstr("an id twice"));
  EXPECT_THAT(error_of_a({.spoil_tags = [](auto& tags) { tags.pop_back(); }}), HasSubstr("has 16 bytes, expected 32"));
}

TEST(HostileB, MoreIdsInCommonThanThereAreAreRefused) {
  for (const std::uint64_t count : {std::uint64_t{kIds + 1}, ~std::uint64_t{0}}) {
    EXPECT_THAT(error_of_a({.common = count}), HasSubstr("more than this party or the peer has"));
  }
  EXPECT_THAT(error_of_a({.count = kMostIds + 1}), HasSubstr("more than the"));
}

TEST(HostileB, CannotProveThatAnotherAHasTheSameOrder) {
  EXPECT_THAT(error_of_a({}), HasSubstr("A2 and this party did not end with the same order"));
  EXPECT_THAT(error_of_a({.returns_own_proof = true}), HasSubstr("A2 and this party did not end with the same order"));
}

/// Alignments of two A's and B that have all ids in common; what B sends to the second A goes through `forge`.
std::vector<std::exception_ptr> run_forged(const testing::Forgery& forgery, std::uint64_t* number_of_common_ids) {
  StarOfParties parties(2, [&](std::size_t a) {
    testing::Channels channels = net::make_memory_channels();
    if (a == 1) {
      channels.second = std::make_unique<net::Channel>(
          std::make_shared<testing::ForgingTransport>(channels.second->transport(), forgery));
    }
    return channels;
  });
  const std::vector<AlignedPeers> peers = peers_of(2);
  const auto thrown = parties.run(
      [&](Session& s, std::size_t a) { (void)align_all(s, numbered(0, kIds), peers[a], kOptions); },
      [&](const Sessions& s) { (void)align_all(s, numbered(0, kIds), {.names = peers[0].names}, kOptions); });
  *number_of_common_ids = 0;
  for (const testing::RecordedMessage& m : parties.at_b(1).messages()) {
    if (m.message.step == steps::kCommonIds) break;
    if (m.direction == net::Direction::kSent) ++*number_of_common_ids;
  }
  return thrown;
}

TEST(HostileB, ThatTellsAsDifferentOrdersIsFoundByBoth) {
  std::uint64_t number = 0;
  EXPECT_THAT(run_forged({}, &number), Each(nullptr));
  const auto swap = [](net::Message& /*message*/, Bytes& tags) {
    std::swap_ranges(tags.begin(), tags.begin() + 16, tags.begin() + 16);
  };
  const auto thrown = run_forged({.number = number, .change = swap}, &number);
  EXPECT_THAT(words_of(thrown[0]), HasSubstr("A2 and this party did not end with the same order"));
  EXPECT_THAT(words_of(thrown[1]), HasSubstr("A1 and this party did not end with the same order"));
  EXPECT_THAT(words_of(thrown[2]), HasSubstr("different orders"));
}

}  // namespace
}  // namespace blindfl::protocol::psi_all_hostile_test
