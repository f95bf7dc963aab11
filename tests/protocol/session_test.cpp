#include "blindfl/protocol/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <thread>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/protocol/session/coin.h"
#include "testing/links.h"
#include "testing/schemes.h"
#include "testing/steps.h"
#include "testing/thrown.h"
#include "testing/two_parties.h"

namespace blindfl::protocol::session_test {
namespace {

TEST(Session, SaysHelloAndExchangesPublicKeysAndNothingElse) {
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  for (const Party party : {Party::kA, Party::kB}) {
    const auto& sent = parties.recording(party).sent();
    ASSERT_EQ(sent.size(), 2U);
    EXPECT_EQ(sent.at(steps::kHello), (net::Traffic{1, 69}));
    EXPECT_EQ(sent.at(steps::kPublicKey), (net::Traffic{1, scheme.public_key_bytes({})}));
  }
  EXPECT_NE(parties.session(Party::kA).key_owner().public_key(), parties.session(Party::kB).key_owner().public_key());
}

constexpr testing::PlainScheme::Options kNoisy{.noisy = true};

/// What a noisy scheme's public key was made from.
Bytes coin_in(const SchemeKeys& keys) {
  const Bytes key = keys.owner->public_key();
  return {key.end() - 32, key.end()};
}

TEST(Session, MakesKeysOfASetWhenItIsFirstUsed) {
  const testing::PlainScheme scheme(kNoisy);
  const std::vector<std::string> sets = scheme.key_sets();
  testing::TwoParties parties(scheme);
  const auto& sent = parties.recording(Party::kA).sent();
  EXPECT_FALSE(sent.contains(steps::kPublicKey));
  EXPECT_THROW((void)parties.session(Party::kA).keys(), InvalidArgument) << "which of them?";
  EXPECT_THROW((void)parties.session(Party::kA).keys("noisy", "none"), InvalidArgument);
  parties.run([&](Session& s) {
    s.agree("the weather", Settings().add("sky", "clear"));  // under way when the keys are
    const SchemeKeys& second = s.keys("noisy", sets[1]);
    const SchemeKeys& first = s.keys("", sets[0]);
    EXPECT_EQ(&s.keys("noisy", sets[1]), &second) << "they stay where they are";
    EXPECT_EQ(&s.keys("noisy", sets[0]), &first);
    EXPECT_EQ(first.key_set, sets[0]);
    EXPECT_EQ(second.key_set, sets[1]);
    EXPECT_NE(first.owner->public_key(), second.owner->public_key());
    EXPECT_EQ(s.keys_to_save(), 0U);
  });
  EXPECT_EQ(sent.at(steps::kPublicKey), (net::Traffic{2, 2 * scheme.public_key_bytes(sets[0])}));
  std::vector<std::uint32_t> numbers;
  for (const testing::RecordedMessage& m : parties.recording(Party::kA).messages()) {
    if (m.message.step == net::Step(steps::kPublicKey) && m.direction == net::Direction::kSent) {
      numbers.push_back(m.message.layer);
    }
  }
  EXPECT_EQ(numbers, (std::vector<std::uint32_t>{256, 0})) << "scheme and set";
}

TEST(Session, HasAnotherCoinForEachSessionOwnerAndSet) {
  const testing::PlainScheme scheme(kNoisy);
  std::set<Bytes> coins;
  for (int i = 0; i < 2; ++i) {
    testing::TwoParties parties(scheme);
    for (const std::string& set : scheme.key_sets()) {
      const auto [a, b] = parties.run([&](Session& s) { return coin_in(s.keys("", set)); });
      coins.insert({a, b});
    }
  }
  EXPECT_EQ(coins.size(), 8U);
}

TEST(Session, CoinsFollowFromAllThatTheyAreMadeOf) {
  const testing::PlainScheme scheme(kNoisy);
  const testing::PlainScheme plain;
  const Bytes one(32, std::byte{1});
  const Bytes two(32, std::byte{2});
  const auto coin = [&](CoinUse use, const Bytes& a, const Bytes& b, Party owner, const he::Scheme& of,
                        const std::string& set) { return coin_of(use, a, b, owner, of, set); };
  const std::set<he::Coin> coins{coin(CoinUse::kSession, one, two, Party::kA, scheme, "x"),
                                 coin(CoinUse::kScoring, one, two, Party::kA, scheme, "x"),
                                 coin(CoinUse::kSession, two, two, Party::kA, scheme, "x"),
                                 coin(CoinUse::kSession, one, one, Party::kA, scheme, "x"),
                                 coin(CoinUse::kSession, two, one, Party::kA, scheme, "x"),
                                 coin(CoinUse::kSession, one, two, Party::kB, scheme, "x"),
                                 coin(CoinUse::kSession, one, two, Party::kA, plain, "x"),
                                 coin(CoinUse::kSession, one, two, Party::kA, scheme, "y")};
  EXPECT_EQ(coins.size(), 8U);
  EXPECT_TRUE(coins.contains(coin(CoinUse::kSession, one, two, Party::kA, scheme, "x")));
}

// What the peer says of itself alone does not settle a coin: the same hello of B meets two nonces of A.
TEST(Session, CoinsDependOnTheNoncesOfBothParties) {
  const testing::PlainScheme scheme(kNoisy);
  testing::TwoParties honest(scheme);
  const Bytes hello = honest.recording(Party::kB).messages().front().payload;
  const Bytes before = honest.run([&](Session& s) { return coin_in(s.keys("", scheme.key_sets()[0])); }).first;
  const auto [mine, theirs] = net::make_memory_channels();
  theirs->send({steps::kHello, 0, 69}, hello);
  Session again(Party::kA, *mine, scheme);
  theirs->send({steps::kPublicKey, 0, scheme.public_key_bytes({})}, Bytes(scheme.public_key_bytes({})));
  EXPECT_THROW((void)again.keys("", scheme.key_sets()[0]), ProtocolError);
  (void)theirs->receive({steps::kHello, 0, 69});
  const Bytes key = theirs->receive({steps::kPublicKey, 0, scheme.public_key_bytes({})});
  EXPECT_NE(Bytes(key.end() - 32, key.end()), before);
}

TEST(Session, NoticesAnOwnerThatIgnoresTheCoin) {
  const testing::PlainScheme honest(kNoisy);
  const testing::PlainScheme careless({.noisy = true, .ignore_coin = true});
  const auto channels = net::make_memory_channels();
  const std::string set = honest.key_sets()[0];
  std::string words;
  std::thread a([&] {
    Session session(Party::kA, *channels.first, honest);
    words = testing::message_of<ProtocolError>([&] { (void)session.keys("", set); });
  });
  Session session(Party::kB, *channels.second, careless);
  EXPECT_NO_THROW((void)session.keys("", set)) << "whose peer's key is right";
  a.join();
  EXPECT_THAT(words, ::testing::HasSubstr("another coin"));
}

TEST(Session, RefusesWhatIsNotAPublicKey) {
  const testing::PlainScheme scheme;
  const auto [mine, theirs] = net::make_memory_channels();
  const net::Message settings{steps::kHello, 0, 69};
  const net::Message key{steps::kPublicKey, 0, scheme.public_key_bytes({})};
  // What an honest B sends first, taken from a session of its own; then garbage.
  testing::TwoParties honest(scheme);
  theirs->send(settings, honest.recording(Party::kB).messages().front().payload);
  theirs->send(key, Bytes(key.size, std::byte{0xAB}));
  EXPECT_THROW(Session(Party::kA, *mine, scheme), ProtocolError);
}

/// What each party says when both run at the same time and fail.
std::pair<std::string, std::string> messages_of_both(const std::function<void(Party, net::Channel&)>& body, Party first,
                                                     Party second) {
  const auto channels = testing::make_channels();
  const auto says = [&](Party party, net::Channel& channel) -> std::string {
    try {
      body(party, channel);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "nothing";
  };
  std::string at_first;
  std::thread other([&] { at_first = says(first, *channels.first); });
  const std::string at_second = says(second, *channels.second);
  other.join();
  return {at_first, at_second};
}

TEST(Session, RefusesAPeerWithTheSameRoleAtBothSides) {
  const testing::PlainScheme scheme;
  for (const Party party : {Party::kA, Party::kB}) {
    const auto [first, second] = messages_of_both(
        [&](Party role, net::Channel& channel) { const Session session(role, channel, scheme); }, party, party);
    const std::string expected = std::string("both parties call themselves ") + (party == Party::kA ? "A" : "B");
    EXPECT_THAT(first, ::testing::HasSubstr(expected));
    EXPECT_THAT(second, ::testing::HasSubstr(expected));
  }
}

TEST(Session, NamesTheSchemesThatDifferAtBothSides) {
  const testing::PlainScheme plain;
  const he::LatticeScheme lattice;
  const auto [a, b] = messages_of_both(
      [&](Party party, net::Channel& channel) {
        const he::Scheme& scheme = party == Party::kA ? static_cast<const he::Scheme&>(plain) : lattice;
        const Session session(party, channel, scheme);
      },
      Party::kA, Party::kB);
  EXPECT_THAT(a, ::testing::HasSubstr("scheme is plain here and lattice at the peer"));
  EXPECT_THAT(b, ::testing::HasSubstr("scheme is lattice here and plain at the peer"));
}

TEST(Session, RefusesItsOwnHelloSentBack) {
  const testing::PlainScheme scheme;
  const auto [mine, theirs] = net::make_memory_channels();
  const net::Message hello{steps::kHello, 0, 69};
  std::thread mirror([&, &peer = *theirs] {
    Bytes bytes = peer.receive(hello);
    bytes[4] = static_cast<std::byte>('B');  // the other role, all else the same
    peer.send(hello, bytes);
  });
  EXPECT_THAT(testing::message_of<ProtocolError>([&, &channel = *mine] { Session(Party::kA, channel, scheme); }),
              ::testing::HasSubstr("sent back"));
  mirror.join();
}

TEST(Session, RefusesAnotherVersionAndNamesBoth) {
  const testing::PlainScheme scheme;
  testing::TwoParties honest(scheme);
  Bytes bytes = honest.recording(Party::kB).messages().front().payload;
  const auto [mine, theirs] = net::make_memory_channels();
  bytes[0] = std::byte{7};
  theirs->send({steps::kHello, 0, 69}, bytes);
  EXPECT_THAT(testing::message_of<ConfigError>([&, &channel = *mine] { Session(Party::kA, channel, scheme); }),
              ::testing::HasSubstr("version 7"));
}

TEST(Session, HasAnIdThatBothKnowAndNoOtherSessionHas) {
  const testing::PlainScheme scheme;
  testing::TwoParties first(scheme);
  testing::TwoParties second(scheme);
  EXPECT_EQ(first.session(Party::kA).id().size(), 32U);
  EXPECT_EQ(first.session(Party::kA).id(), first.session(Party::kB).id());
  EXPECT_NE(first.session(Party::kA).id(), second.session(Party::kA).id());
}

TEST(Session, PreparesRepliesWhileItWaitsForThePeer) {
  const he::LatticeScheme scheme;
  testing::TwoParties parties(scheme);
  const auto plan = scheme.plan({.rows = 128,
                                 .inner = 62,
                                 .cols = 1,
                                 .left_bound = 1 << 20,
                                 .left_scale = 16,
                                 .right_scale = 32,
                                 .noise_bits = 40});
  const net::Message message{steps::kForwardProduct, 0, 1};
  parties.run(
      [&](Session& a) {
        const he::Multiplier& multiplier = *a.keys("lattice", plan->key_set()).peer;
        multiplier.expect(*plan);
        (void)a.channel().receive(message);
        EXPECT_FALSE(multiplier.prepare()) << "there was nothing left to prepare";
      },
      [&](Session& b) {
        (void)b.keys("lattice", plan->key_set());
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        b.channel().send(message, Bytes(1));
      });
}

TEST(Session, ComparesSettingsBeforeTheyMatterAndNamesWhatDiffersAtBothSides) {
  const testing::PlainScheme scheme;
  const auto agree_on = [](Session& s, int servings_at_b) {
    s.agree("the weather", Settings().add("sky", "clear"));
    s.agree("the menu", Settings().add("soup", true).add("servings", s.party() == Party::kA ? 2 : servings_at_b));
    s.agree("the wine", Settings().add("colour", "red"));
    s.settle();
    s.settle();  // nothing is left
  };
  testing::TwoParties parties(scheme);
  EXPECT_NO_THROW(parties.run([&](Session& s) { agree_on(s, 2); }));
  const auto [a, b] = messages_of_both(
      [&](Party party, net::Channel& channel) {
        Session session(party, channel, scheme);
        agree_on(session, 3);
      },
      Party::kA, Party::kB);
  EXPECT_THAT(a, ::testing::HasSubstr("the menu: servings is 2 here and 3 at the peer."));
  EXPECT_THAT(b, ::testing::HasSubstr("the menu: servings is 3 here and 2 at the peer."));
}

TEST(Session, ThatEndsByAnExceptionDoesNotLetThePeerWait) {
  const testing::PlainScheme scheme;
  const auto channels = net::make_memory_channels();
  std::thread party_a([&] {
    try {
      const Session session(Party::kA, *channels.first, scheme);
      throw DataError("a user's own mistake");
    } catch (const DataError&) {
    }
  });
  Session session(Party::kB, *channels.second, scheme);
  EXPECT_THROW((void)session.channel().receive({steps::kOutputShare, 0, 8}), TransportError);
  party_a.join();
}

TEST(Session, DrawsDifferentInitialWeightsAtTheTwoPartiesEvenFromOneSeed) {
  const testing::PlainScheme scheme;
  const auto first_draw = [](Session& s) { return s.weight_random(0).next_u64(); };
  const auto channels = net::make_memory_channels();
  const auto as = [&](Party party, net::Channel& channel) {
    return [&, party] {
      Session session(party, channel, scheme, {.weight_seed = 5});
      return first_draw(session);
    };
  };
  const auto draws =
      run_both(as(Party::kA, *channels.first), as(Party::kB, *channels.second), [&] { channels.first->close(); });
  EXPECT_NE(draws.first, draws.second);
}

TEST(Session, DrawsOtherInitialWeightsInEachSessionLayerAndPartyWhereThereIsNoSeed) {
  const testing::PlainScheme scheme;
  std::set<std::uint64_t> draws;
  for (int i = 0; i < 2; ++i) {
    const auto channels = net::make_memory_channels();
    const auto as = [&](Party party, net::Channel& channel) {
      return [&, party] {
        const Session session(party, channel, scheme);
        const std::uint64_t first = session.weight_random(0).next_u64();
        EXPECT_EQ(session.weight_random(0).next_u64(), first) << "the same at each call";
        return std::pair(first, session.weight_random(1).next_u64());
      };
    };
    const auto [a, b] =
        run_both(as(Party::kA, *channels.first), as(Party::kB, *channels.second), [&] { channels.first->close(); });
    draws.insert({a.first, a.second, b.first, b.second});
  }
  EXPECT_EQ(draws.size(), 8U);
}

TEST(Session, NumbersLayersAlikeAtBothParties) {
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(parties.session(Party::kA).new_layer(), i);
    EXPECT_EQ(parties.session(Party::kB).new_layer(), i);
  }
}

// Sending and receiving may run in two threads, both of which draw.
TEST(Session, GivesEachCallerAGeneratorOfItsOwn) {
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme, net::make_memory_channels(/*capacity=*/64), testing::Record::kNo);
  constexpr std::size_t kPieces = 3000;
  const net::Message message{steps::kForwardOperand, 0, 16 * kPieces};
  const auto [of_a, of_b] = parties.run([&](Session& s) {
    std::vector<UInt128> sent;
    std::vector<UInt128> received;
    const auto draw = [&](std::vector<UInt128>& to) {
      Random random = s.random();
      to.push_back(random.next_u128());
      to.push_back(random.next_u128());
      to.push_back(s.random().next_u128());
    };
    s.exchange(
        message.size,
        [&] {
          s.channel().send(message, [&](ByteSink& out) {
            for (std::size_t i = 0; i < kPieces; ++i) {
              draw(sent);
              out.write_u128(std::span(&sent.back(), 1));
            }
          });
        },
        [&] {
          s.channel().receive(message, [&](ByteSource& in) {
            for (std::size_t i = 0; i < kPieces; ++i) {
              UInt128 piece = 0;
              in.read_u128(std::span(&piece, 1));
              draw(received);
            }
          });
        });
    sent.insert(sent.end(), received.begin(), received.end());
    return sent;
  });
  std::set<UInt128> draws(of_a.begin(), of_a.end());
  draws.insert(of_b.begin(), of_b.end());
  EXPECT_EQ(draws.size(), 2 * 2 * 3 * kPieces) << "no two draws are the same";
}

TEST(Session, TwoPartiesThatSendAtOnceDoNotBlockEachOther) {
  const testing::PlainScheme scheme;
  // Making the sessions already exchanges keys both ways at once; it would hang if they took turns.
  testing::TwoParties parties(scheme, net::make_memory_channels(/*capacity=*/16));
  const net::Message message{steps::kForwardOperand, 0, 1000};
  const auto [at_a, at_b] = parties.run([&](Session& s) {
    Bytes received;
    const auto filler = s.party() == Party::kA ? std::byte{1} : std::byte{2};
    s.exchange(
        message.size, [&] { s.channel().send(message, Bytes(message.size, filler)); },
        [&] { received = s.channel().receive(message); });
    return received;
  });
  EXPECT_EQ(at_a, Bytes(1000, std::byte{2}));
  EXPECT_EQ(at_b, Bytes(1000, std::byte{1}));
}

}  // namespace
}  // namespace blindfl::protocol::session_test
