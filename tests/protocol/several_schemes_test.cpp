// A session with several schemes, from which each layer chooses one for each of its products.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/share/products.h"
#include "protocol/matmul_fixture.h"
#include "testing/shares.h"
#include "testing/steps.h"
#include "testing/thrown.h"

namespace blindfl::protocol::several_schemes_test {
namespace {

using ::testing::HasSubstr;
using Kind = IntMatrix::Kind;
using Schemes = std::vector<const he::Scheme*>;

const std::string kSet = "4096/100";  // the lattice's first

class SeveralSchemes : public ::testing::Test {
 protected:
  testing::PlainScheme plain_;
  he::LatticeScheme lattice_;
  Schemes both_{&plain_, &lattice_};

  /// What each party says of the sessions, or layers, that they cannot have together.
  template <class Body>
  std::pair<std::string, std::string> words_of_both(const Schemes& at_a, const Schemes& at_b, const Body& body) {
    const auto channels = testing::make_channels();
    const auto as = [&](Party party, net::Channel& channel, const Schemes& schemes) {
      return [&, party] {
        return testing::message_of<ConfigError>([&] {
          Session session(party, channel, schemes);
          body(session);
        });
      };
    };
    return run_both(as(Party::kA, *channels.first, at_a), as(Party::kB, *channels.second, at_b), [] {});
  }
};

TEST_F(SeveralSchemes, ExchangeKeysOfTheDefaultAtOnceAndOfOthersAtTheirFirstUse) {
  testing::TwoParties parties(both_);
  const auto& sent = parties.recording(Party::kA).sent();
  EXPECT_EQ(&parties.session(Party::kA).scheme(), &plain_);
  EXPECT_EQ(sent.at(steps::kPublicKey), (net::Traffic{1, plain_.public_key_bytes({})}));
  const auto [a, b] = parties.run([&](Session& s) {
    s.agree("the weather", Settings().add("sky", "clear"));  // under way when the keys are
    const SchemeKeys& keys = s.keys("lattice", kSet);
    EXPECT_EQ(&keys, &s.keys("lattice", kSet)) << "the second call finds what the first one made";
    EXPECT_EQ(&s.keys("plain"), &s.keys());
    EXPECT_EQ(&s.keys(""), &s.keys());
    EXPECT_EQ(&keys.scheme, &lattice_);
    return keys.owner->public_key();
  });
  EXPECT_NE(a, b);
  EXPECT_EQ(sent.at(steps::kPublicKey),
            (net::Traffic{2, plain_.public_key_bytes({}) + lattice_.public_key_bytes(kSet)}));
  const testing::RecordedMessage last = parties.recording(Party::kA).messages().at(3);
  EXPECT_EQ(last.message.layer, 1U) << "the number of the scheme";
  EXPECT_EQ(last.payload, a);
}

TEST_F(SeveralSchemes, OneUnknownByNameIsRefusedNamingThoseThereAre) {
  testing::TwoParties parties(both_);
  Session& session = parties.session(Party::kA);
  EXPECT_THAT(testing::message_of<ConfigError>([&] { (void)session.keys("rot13"); }),
              HasSubstr("no scheme 'rot13', only: plain, lattice"));
  MatMulSpec spec = small_spec(3, 2, 2, 4);
  spec.scheme_b = "rot13";
  EXPECT_THAT(testing::message_of<ConfigError>([&] { MatMul(session, spec); }), HasSubstr("rot13"));
  EXPECT_FALSE(parties.recording(Party::kA).sent().contains(steps::kAgreement)) << "nothing was sent";
}

TEST_F(SeveralSchemes, NoneOrTwoOfOneNameAreRefused) {
  const testing::PlainScheme plain_again;
  for (const Schemes& bad : {Schemes{}, Schemes{nullptr}, Schemes{&plain_, &lattice_, &plain_again}}) {
    const auto [mine, theirs] = net::make_memory_channels();
    EXPECT_THROW(Session(Party::kA, *mine, bad), InvalidArgument);
    EXPECT_THROW((void)theirs->receive({steps::kHello, 0, 69}), TransportError) << "the peer need not wait";
  }
}

TEST_F(SeveralSchemes, DifferentSetsAreNamedAtBothSides) {
  const auto nothing = [](Session&) {};
  {
    const auto [a, b] = words_of_both({&plain_}, both_, nothing);
    EXPECT_THAT(a, HasSubstr("the scheme: scheme 1 is missing here and lattice at the peer; parameters 1 is missing"));
    EXPECT_THAT(b, HasSubstr("the scheme: scheme 1 is lattice here and missing at the peer; parameters 1 is lattice,"));
  }
  const auto [a, b] = words_of_both({&lattice_, &plain_}, both_, nothing);
  EXPECT_THAT(a, HasSubstr("scheme is lattice here and plain at the peer"));
  EXPECT_THAT(a, HasSubstr("scheme 1 is plain here and lattice at the peer"));
  EXPECT_THAT(b, HasSubstr("scheme 1 is lattice here and plain at the peer"));
}

TEST_F(SeveralSchemes, AHostileKeyOfTheSecondIsRefusedAndClosesTheLink) {
  testing::TwoParties parties(both_);
  Session& a = parties.session(Party::kA);
  net::Channel& from_b = parties.session(Party::kB).channel();
  const net::Message key{steps::kPublicKey, 1, lattice_.public_key_bytes(kSet)};
  from_b.send(key, Bytes(key.size, std::byte{0xAB}));
  EXPECT_THROW((void)a.keys("lattice", kSet), ProtocolError);
  EXPECT_THROW((void)a.keys("lattice", kSet), TransportError) << "half a pair of keys is none";
  EXPECT_EQ(from_b.receive(key).size(), key.size);
  EXPECT_THROW((void)from_b.receive(key), TransportError);
}

TEST_F(SeveralSchemes, AKeyUnderAnotherSchemesNumberIsRefused) {
  testing::TwoParties parties(both_);
  const net::Message key{steps::kPublicKey, 0, lattice_.public_key_bytes(kSet)};
  Random random;
  parties.session(Party::kB).channel().send(key, lattice_.generate_keys({.set = kSet}, random)->public_key());
  EXPECT_THROW((void)parties.session(Party::kA).keys("lattice", kSet), ProtocolError);
}

TEST_F(SeveralSchemes, ALayersProductsTravelUnderTheSchemesThatItChose) {
  MatMulSpec spec = small_spec(7, 5, 3, 16);
  spec.scheme_a = "lattice";
  MatMulPair pair(both_, spec);
  SeededRandom random(5);
  const IntMatrix x_a = random_features(spec.features_a, Kind::kDense, 16, 7, random);
  const IntMatrix x_b = random_features(spec.features_b, Kind::kCsr, 16, 5, random);
  const Derivative derivative = random_derivative(spec, random);

  const auto [z_a, z_b] = pair.forward(x_a, x_b);
  const ShareMatrix z = multiply(x_a, pair.weight(Party::kA)) + multiply(x_b, pair.weight(Party::kB));
  EXPECT_TRUE(testing::same_output("lattice", open(z_a.share, z_b.share), narrowed(z, z_a.share.ring_bits())));

  const auto [a, b] = pair.backward(x_a, x_b, derivative);
  const auto gradient = decode_ring(open(*a.weight_a, *b.weight_a));
  const auto expected = decode_ring(multiply_transposed(x_a, to_ring(*derivative.share)));
  for (std::size_t i = 0; i < gradient.size(); ++i) EXPECT_NEAR(gradient[i], expected[i], 1e-4);

  const MatMulParams& params = pair.a.params();
  const auto& from_a = pair.parties.recording(Party::kA).sent();
  const auto& from_b = pair.parties.recording(Party::kB).sent();
  const auto under_lattice = lattice_.plan(params.forward(Party::kA, 16));
  const auto under_plain = plain_.plan(params.forward(Party::kB, 16));
  EXPECT_EQ(from_b.at(steps::kForwardOperand).bytes, under_lattice->operand_bytes());
  EXPECT_EQ(from_a.at(steps::kForwardProduct).bytes, under_lattice->reply_bytes());
  EXPECT_EQ(from_a.at(steps::kForwardOperand).bytes, under_plain->operand_bytes());
  EXPECT_EQ(from_b.at(steps::kForwardProduct).bytes, under_plain->reply_bytes());
  const auto backward = lattice_.plan(params.backward(16));
  EXPECT_EQ(from_b.at(steps::kDerivativeOperand).bytes, backward->operand_bytes());
  EXPECT_EQ(from_a.at(steps::kGradientProduct).bytes, backward->reply_bytes());
}

TEST_F(SeveralSchemes, AChoiceThatDiffersIsNamedBeforeKeysTravel) {
  const auto forward = [](const std::string& at_a, const std::string& at_b) {
    return [=](Session& s) {
      MatMulSpec spec = small_spec(3, 2, 2, 4);
      spec.scheme_a = s.party() == Party::kA ? at_a : at_b;
      MatMul layer(s, spec);
      SeededRandom random(5);
      (void)layer.forward(random_features({}, Kind::kDense, 4, layer.params().in(s.party()), random));
    };
  };
  const auto [a, b] = words_of_both(both_, both_, forward("lattice", "plain"));
  EXPECT_THAT(a, HasSubstr("layer 'matmul': scheme_a is lattice here and plain at the peer"));
  EXPECT_THAT(b, HasSubstr("layer 'matmul': scheme_a is plain here and lattice at the peer"));
  // The default by its name, or by none, is the same.
  EXPECT_NO_THROW(testing::TwoParties(both_).run(forward("", "plain")));
}

TEST_F(SeveralSchemes, AreAllPreparedWhileAPartyWaits) {
  testing::TwoParties parties(both_);
  const auto plan = lattice_.plan({.rows = 128,
                                   .inner = 62,
                                   .cols = 1,
                                   .left_bound = 1 << 20,
                                   .left_scale = 16,
                                   .right_scale = 32,
                                   .noise_bits = 40});
  const net::Message message{steps::kForwardProduct, 0, 1};
  parties.run(
      [&](Session& a) {
        const he::Multiplier& second = *a.keys("lattice", plan->key_set()).peer;
        second.expect(*plan);
        (void)a.channel().receive(message);
        EXPECT_FALSE(second.prepare()) << "there was nothing left to prepare";
      },
      [&](Session& b) {
        (void)b.keys("lattice", plan->key_set());
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        b.channel().send(message, Bytes(1));
      });
}

}  // namespace
}  // namespace blindfl::protocol::several_schemes_test
