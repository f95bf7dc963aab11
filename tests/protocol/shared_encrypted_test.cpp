// Updates under encryption where dZ is shared: each party holds the encrypted half of its own weights, adds its own
// share of dZ to what arrives, and learns nothing by it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "blindfl/base/error.h"
#include "protocol/encrypted_fixture.h"
#include "protocol/shared_fixture.h"
#include "testing/steps.h"
#include "testing/thrown.h"

namespace blindfl::protocol::shared_encrypted_test {
namespace {

using ::testing::HasSubstr;
using Kind = IntMatrix::Kind;

constexpr FixedPointSpec kBinary{.scale = 0, .largest = 1, .clip = false};

struct Case {
  std::string name;
  Update update_a;
  Update update_b;
  double momentum = 0;
  bool binary = false;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

class SharedEncrypted : public ::testing::TestWithParam<Case> {
 protected:
  [[nodiscard]] static MatMulSpec spec() {
    MatMulSpec spec = shared_spec(6, 5, 2, 8);
    spec.update = GetParam().update_a;
    spec.update_b = GetParam().update_b;
    spec.sgd = {.learning_rate = 0.1, .momentum = GetParam().momentum, .steps = 20};
    spec.derivative.largest = 2.0;
    if (GetParam().binary) spec.features_a = spec.features_b = kBinary;
    return spec;
  }
  [[nodiscard]] SharedPass make_pass(const MatMulSpec& spec, int step) {
    return make_shared_pass(spec, step % 2 == 0 ? Kind::kCsr : Kind::kDense, step % 5 == 4 ? 3 : spec.batch, random_);
  }

  /// Weights are off by less than 1e-4 after 20 steps, as in the exchanged way; Z by that times the features.
  static void expect_output(MatMulPair& pair, const SharedPass& pass, const PlainWeights& plain) {
    const auto [a, b] = pair.forward(pass.x_a, pass.x_b);
    EXPECT_LT(largest_difference(decode_ring(open(a.share, b.share)), plain.output(pass, pair.a.params().spec().out)),
              5e-3);
  }

  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme("paillier");
  SeededRandom random_{7};
};

TEST_P(SharedEncrypted, TakesTwentyStepsAsPlainSgd) {
  const MatMulSpec spec = SharedEncrypted::spec();
  MatMulPair pair(*scheme_, spec);
  PlainWeights plain(pair.a, pair.b);
  PieceSgd at_a(spec.sgd);
  PieceSgd at_b(spec.sgd);
  for (int step = 0; step < 20; ++step) {
    const SharedPass pass = make_pass(spec, step);
    expect_output(pair, pass, plain);
    const auto [grad_a, grad_b] = backward_shared(pair, pass);
    EXPECT_EQ(grad_a.weight_a.has_value(), spec.update == Update::kExchanged);
    EXPECT_EQ(grad_b.weight_b.has_value(), spec.update_b == Update::kExchanged);
    at_a.step(pair.a, grad_a);
    at_b.step(pair.b, grad_b);
    plain.step(pass, spec.sgd);
  }
  expect_output(pair, make_pass(spec, 0), plain);
}

TEST_P(SharedEncrypted, LetsNeitherPartyOpenMoreThanMaskedProducts) {
  const MatMulSpec spec = SharedEncrypted::spec();
  MatMulPair pair(*scheme_, spec);
  const SharedPass pass = make_pass(spec, 0);
  (void)pair.forward(pass.x_a, pass.x_b);
  (void)backward_shared(pair, pass);
  for (const Party party : {Party::kA, Party::kB}) {
    std::set<net::Step> wanted{steps::kPublicKey, steps::kAgreement, steps::kHello, steps::kForwardProduct,
                               steps::kSharedDerivative};
    // The party's own weights need its peer's piece; the peer's weights answer with a gradient.
    if (!pair.a.params().encrypted(party)) wanted.insert(steps::kForwardOperand);
    if (!pair.a.params().encrypted(peer_of(party))) wanted.insert(steps::kSharedGradient);
    // And is lifted, by random OTs.
    if (spec.update == Update::kExchanged || spec.update_b == Update::kExchanged) {
      wanted.insert({steps::kObliviousHello, steps::kObliviousTrees, steps::kObliviousTiles, steps::kLiftChoices,
                     steps::kLiftWords});
    }
    std::set<net::Step> got;
    for (const auto& [step, traffic] : pair.parties.recording(party).received()) got.insert(step);
    EXPECT_EQ(got, wanted) << name_of(party);
  }
}

// The same sessions' keys, other sessions: what was learned is there, and training goes on.
TEST_P(SharedEncrypted, ResumesFromSavedState) {
  const MatMulSpec spec = SharedEncrypted::spec();
  std::pair<Bytes, Bytes> state;
  testing::SavedKeys keys;
  std::optional<PlainWeights> plain;
  const auto take_steps = [&](testing::TwoParties& parties, MatMul& a, MatMul& b, int from, int to) {
    // Without momentum of the exchanged weights, which an optimizer would save.
    PieceSgd at_a({.learning_rate = 0.1});
    PieceSgd at_b({.learning_rate = 0.1});
    for (int step = from; step < to; ++step) {
      const SharedPass pass = make_pass(spec, step);
      const auto [z_a, z_b] =
          parties.run([&](Session&) { return a.forward(pass.x_a); }, [&](Session&) { return b.forward(pass.x_b); });
      EXPECT_LT(largest_difference(decode_ring(open(z_a.share, z_b.share)), plain->output(pass, spec.out)), 5e-3);
      const auto [grad_a, grad_b] = parties.run([&](Session&) { return a.backward(pass.x_a, pass.derivative.at_a); },
                                                [&](Session&) { return b.backward(pass.x_b, pass.derivative.at_b); });
      at_a.step(a, grad_a);
      at_b.step(b, grad_b);
      plain->step(pass, spec.sgd);
    }
  };
  {
    testing::TwoParties parties(*scheme_);
    MatMul a(parties.session(Party::kA), spec);
    MatMul b(parties.session(Party::kB), spec);
    plain.emplace(a, b);
    take_steps(parties, a, b, 0, 4);
    state = {write_to_bytes([&](ByteSink& out) { a.save(out); }), write_to_bytes([&](ByteSink& out) { b.save(out); })};
    const auto keys_of = [&](Party party) {
      const Bytes saved = write_to_bytes([&](ByteSink& out) { parties.session(party).save_keys(out); });
      return std::make_shared<const SecretVector<std::byte>>(saved.begin(), saved.end());
    };
    keys = {keys_of(Party::kA), keys_of(Party::kB)};
  }
  testing::TwoParties parties({scheme_.get()}, testing::make_channels(), testing::Record::kYes, keys);
  MatMul a(parties.session(Party::kA), spec);
  MatMul b(parties.session(Party::kB), spec);
  const auto load = [](MatMul& layer, const Bytes& bytes) {
    BufferSource in(bytes);
    layer.load(in);
    EXPECT_EQ(in.remaining(), 0U);
    EXPECT_EQ(write_to_bytes([&](ByteSink& out) { layer.save(out); }), bytes);
  };
  load(a, state.first);
  load(b, state.second);
  take_steps(parties, a, b, 4, 8);
}

INSTANTIATE_TEST_SUITE_P(Cases, SharedEncrypted,
                         ::testing::Values(Case{"both", Update::kEncrypted, Update::kEncrypted},
                                           Case{"both_binary_momentum", Update::kEncrypted, Update::kEncrypted, 0.9,
                                                true},
                                           Case{"both_momentum", Update::kEncrypted, Update::kEncrypted, 0.5},
                                           Case{"of_a", Update::kEncrypted, Update::kExchanged},
                                           Case{"of_b", Update::kExchanged, Update::kEncrypted, 0, true}),
                         [](const auto& c) { return c.param.name; });

/// What a party holds of its own weights, decrypted by a test that has both keys, is all that they learned.
TEST(SharedEncryptedWeights, AreTheSumOfBothSharesProducts) {
  const auto scheme = testing::make_scheme("paillier");
  SeededRandom random(3);
  MatMulSpec spec = shared_spec(5, 0, 2, 8);
  spec.update = Update::kEncrypted;
  spec.sgd = {.learning_rate = 0.5, .steps = 4};
  MatMulPair pair(*scheme, spec);
  const SharedPass pass = make_shared_pass(spec, Kind::kDense, 8, random);
  (void)backward_shared(pair, pass);
  for (MatMul* half : {&pair.a, &pair.b}) half->weight(Party::kA).update->step();
  std::vector<double> wanted = PlainWeight(std::vector<double>(10), 2).gradient(pass.x_a, pass.derivative.dz);
  for (double& v : wanted) v *= -0.5;
  // Shares of dZ are rounded to 2^-24, twice.
  EXPECT_LT(largest_difference(decrypt_weights(pair.a, pair.b), wanted), 0.5 * 16 * 2 * 0x1p-24);
}

TEST(SharedEncryptedWeights, NeedASchemeThatUpdates) {
  const auto lattice = testing::make_scheme("lattice");
  MatMulSpec spec = shared_spec(5, 4, 2, 8);
  spec.update_b = Update::kEncrypted;
  spec.sgd.steps = 4;
  EXPECT_THAT(testing::message_of<ConfigError>([&] { MatMulPair(*lattice, spec); }), HasSubstr("B's features"));
}

}  // namespace
}  // namespace blindfl::protocol::shared_encrypted_test
