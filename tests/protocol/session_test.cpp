#include "blindfl/protocol/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "testing/schemes.h"
#include "testing/two_parties.h"

namespace blindfl::protocol {
namespace {

TEST(Session, ExchangesPublicKeysAndADigestOfTheSettingsAndNothingElse) {
  const he::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  for (const Party party : {Party::kA, Party::kB}) {
    const auto& sent = parties.recording(party).sent();
    ASSERT_EQ(sent.size(), 2U);
    EXPECT_EQ(sent.at(net::Step::kAgreement), (net::Traffic{1, 32}));
    EXPECT_EQ(sent.at(net::Step::kPublicKey), (net::Traffic{1, scheme.public_key_bytes()}));
  }
  EXPECT_NE(parties.session(Party::kA).key_owner().public_key(), parties.session(Party::kB).key_owner().public_key());
}

TEST(Session, RefusesWhatIsNotAPublicKey) {
  const he::PlainScheme scheme;
  const auto [mine, theirs] = net::make_memory_channels();
  const net::Message settings{net::Step::kAgreement, 0, kDigestBytes};
  const net::Message key{net::Step::kPublicKey, 0, scheme.public_key_bytes()};
  // What an honest B sends first, taken from a session of its own; then garbage.
  testing::TwoParties honest(scheme);
  theirs->send(settings, honest.recording(Party::kB).messages().front().payload);
  theirs->send(key, Bytes(key.size, std::byte{0xAB}));
  EXPECT_THROW(Session(Party::kA, *mine, scheme), ProtocolError);
}

TEST(Session, RefusesAPeerWithTheSameRole) {
  const he::PlainScheme scheme;
  const auto channels = net::make_memory_channels();
  const auto as_a = [&](net::Channel& channel) { return [&] { const Session session(Party::kA, channel, scheme); }; };
  EXPECT_THROW(run_both(as_a(*channels.first), as_a(*channels.second), [&] { channels.first->close(); }), ConfigError);
}

TEST(Session, PreparesRepliesWhileItWaitsForThePeer) {
  const he::LatticeScheme scheme;
  testing::TwoParties parties(scheme);
  const auto plan = scheme.plan({128, 62, 1, 1 << 20, 16, 32, 128});
  const net::Message message{net::Step::kForwardProduct, 0, 1};
  parties.run(
      [&](Session& a) {
        a.peer_multiplier().expect(*plan);
        (void)a.channel().receive(message);
        EXPECT_FALSE(a.peer_multiplier().prepare()) << "there was nothing left to prepare";
      },
      [&](Session& b) {
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        b.channel().send(message, Bytes(1));
      });
}

TEST(Session, ComparesSettingsBeforeTheyMatter) {
  const he::PlainScheme scheme;
  const auto agree_on = [](const std::string& text_at_b) {
    return [=](Session& s) {
      s.agree("the weather", "sunny");
      s.agree("the menu", s.party() == Party::kA ? "soup" : text_at_b);
      s.settle();
      s.settle();  // nothing is left
    };
  };
  testing::TwoParties parties(scheme);
  EXPECT_NO_THROW(parties.run(agree_on("soup")));
  try {
    parties.run(agree_on("salad"));
    ADD_FAILURE() << "they agreed";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("the menu"));
  }
}

TEST(Session, ThatEndsByAnExceptionDoesNotLetThePeerWait) {
  const he::PlainScheme scheme;
  const auto channels = net::make_memory_channels();
  std::thread party_a([&] {
    try {
      const Session session(Party::kA, *channels.first, scheme);
      throw DataError("a user's own mistake");
    } catch (const DataError&) {
    }
  });
  Session session(Party::kB, *channels.second, scheme);
  EXPECT_THROW((void)session.channel().receive({net::Step::kOutputShare, 0, 8}), TransportError);
  party_a.join();
}

TEST(Session, DrawsDifferentInitialWeightsAtTheTwoPartiesEvenFromOneSeed) {
  const he::PlainScheme scheme;
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

TEST(Session, NumbersLayersAlikeAtBothParties) {
  const he::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(parties.session(Party::kA).new_layer(), i);
    EXPECT_EQ(parties.session(Party::kB).new_layer(), i);
  }
}

TEST(Session, TwoPartiesThatSendAtOnceDoNotBlockEachOther) {
  const he::PlainScheme scheme;
  // Making the sessions already exchanges keys both ways at once; it would hang if they took turns.
  testing::TwoParties parties(scheme, net::make_memory_channels(/*capacity=*/16));
  const net::Message message{net::Step::kForwardOperand, 0, 1000};
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
}  // namespace blindfl::protocol
