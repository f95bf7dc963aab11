// Scoring the same batch again with weights that exist only under encryption.

#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "protocol/embed_fixture.h"
#include "protocol/encrypted_fixture.h"
#include "protocol/repeatable_fixture.h"
#include "testing/steps.h"

namespace blindfl::protocol::repeatable_encrypted_test {
namespace {

using Kind = IntMatrix::Kind;

class RepeatableEncrypted : public ::testing::TestWithParam<double> {
 protected:
  [[nodiscard]] static SgdOptions sgd() { return {.learning_rate = 0.1, .momentum = GetParam(), .steps = 20}; }

  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme("paillier");
  SeededRandom random_{9};
  Keys keys_ = draw_keys();
};

class RepeatableEncryptedMatMul : public RepeatableEncrypted {
 protected:
  [[nodiscard]] static MatMulSpec make_spec() {
    MatMulSpec spec = small_spec(10, 6, 2, 8);
    spec.derivative = {.scale = 32, .largest = 4.0, .clip = false};
    spec.update = Update::kEncrypted;
    spec.sgd = sgd();
    return spec;
  }
  static Scores score(MatMulScorer& scorer, const Keys* keys, const IntMatrix& x_a, const IntMatrix& x_b) {
    return scorer.score(keys,
                        [&](MatMul& layer, Party party) { return layer.forward(party == Party::kA ? x_a : x_b); });
  }
  void train(MatMulScorer& scorer) {
    const IntMatrix x_a = features_a();
    const IntMatrix x_b = features_b();
    const Derivative derivative = random_derivative(spec_, random_);
    scorer.parties.run([&](Session& session) {
      MatMul& layer = scorer.at(session);
      const bool at_a = session.party() == Party::kA;
      (void)layer.backward(at_a ? x_a : x_b, at_a ? absent_derivative(spec_.batch, spec_.batch) : derivative);
      layer.weight(Party::kA).update->step();
      if (!at_a) layer.weight(Party::kB).update->step();
    });
  }
  IntMatrix features_a() { return random_features(spec_.features_a, Kind::kCsr, spec_.batch, spec_.in_a, random_); }
  IntMatrix features_b() { return random_features(spec_.features_b, Kind::kCsr, spec_.batch, spec_.in_b, random_); }

  MatMulSpec spec_ = make_spec();
};

TEST_P(RepeatableEncryptedMatMul, GivesTheSameBitsWhateverIsScoredBetween) {
  MatMulScorer scorer({scheme_.get()}, spec_);
  for (int i = 0; i < 3; ++i) train(scorer);
  const IntMatrix x_a = features_a();
  const IntMatrix x_b = features_b();
  const Scores scores = score(scorer, &keys_, x_a, x_b);
  (void)score(scorer, &keys_, features_a(), features_b());
  const Scores fresh = score(scorer, nullptr, x_a, x_b);
  EXPECT_EQ(equal_values(fresh.at_a, scores.at_a), 0U);
  EXPECT_EQ(score(scorer, &keys_, x_a, x_b), scores);
  const Keys other{keys_.a.for_model("other"), keys_.b.for_model("other")};
  EXPECT_EQ(equal_values(score(scorer, &other, x_a, x_b).at_a, scores.at_a), 0U);
}

TEST_P(RepeatableEncryptedMatMul, RefusesToTrainAndWeightsThatChanged) {
  MatMulScorer scorer({scheme_.get()}, spec_);
  train(scorer);
  const IntMatrix x_a = features_a();
  const IntMatrix x_b = features_b();
  (void)score(scorer, &keys_, x_a, x_b);
  {
    const RepeatableScoring at_a(scorer.parties.session(Party::kA), keys_.a);
    EXPECT_THROW((void)scorer.a->backward(x_a, absent_derivative(8, 8)), InvalidArgument);
  }
  train(scorer);
  const RepeatableScoring at_a(scorer.parties.session(Party::kA), keys_.a);
  const RepeatableScoring at_b(scorer.parties.session(Party::kB), keys_.b);
  EXPECT_THROW((void)scorer.a->forward(x_a), InvalidArgument);
  EXPECT_THROW((void)scorer.b->forward(x_b), InvalidArgument);
}

/// Keys of Paillier's that outlive sessions, as those that a party saved do, and weights that were saved with them.
class RepeatableEncryptedState : public RepeatableEncryptedMatMul {
 protected:
  struct Saved {
    Bytes holder;
    Bytes owner;
  };
  /// Three steps in a session of their own.
  [[nodiscard]] Saved train_weights() {
    testing::TwoParties parties(plain_);
    const he::paillier::PaillierMultiplier multiplier(public_key_);
    EncryptedUpdateHolder holder(params_, *multiplier.updates());
    EncryptedUpdateOwner owner(params_, owner_key_);
    for (int i = 0; i < 3; ++i) {
      const IntMatrix x = features_a();
      const Derivative derivative = random_derivative(spec_, random_);
      parties.run([&](Session& session) { holder.receive_derivative(session, 0, x); },
                  [&](Session& session) { owner.send_derivative(session, 0, derivative); });
      holder.step();
      owner.step();
    }
    ThreadPool pool;
    return {write_to_bytes([&](ByteSink& out) { holder.save(out, pool); }),
            write_to_bytes([&](ByteSink& out) { owner.save(out); })};
  }
  [[nodiscard]] std::pair<ShareMatrix, ShareMatrix> product_in_a_session(const MaskKey& key, std::size_t threads,
                                                                         const IntMatrix& x, const Saved& saved) {
    testing::TwoParties parties({&plain_}, testing::make_channels(), testing::Record::kYes, {}, threads);
    const he::paillier::PaillierMultiplier multiplier(public_key_);
    EncryptedUpdateHolder holder(params_, *multiplier.updates());
    EncryptedUpdateOwner owner(params_, owner_key_);
    ThreadPool pool;
    BufferSource of_holder(saved.holder);
    BufferSource of_owner(saved.owner);
    holder.load(of_holder, pool);
    owner.load(of_owner);
    auto shares = parties.run(
        [&](Session& session) {
          const RepeatableScoring repeatable(session, key);
          return holder.send_product(session, 0, x);
        },
        [&](Session& session) { return owner.receive_product(session, 0, x.rows()); });
    for (const testing::RecordedMessage& m : parties.recording(Party::kA).messages()) {
      if (m.message.step == steps::kForwardProduct) replies_.push_back(m.payload);
    }
    return shares;
  }

  testing::PlainScheme plain_;
  const he::paillier::SecretKey& key_ = he::paillier::testing::small_key(he::paillier::available_kernels().front());
  he::paillier::PaillierUpdateOwner owner_key_{key_};
  std::shared_ptr<const he::paillier::PublicKey> public_key_ = std::make_shared<const he::paillier::PublicKey>(
      key_.public_key().params(), he::paillier::available_kernels().front(), key_.public_key().encoded());
  std::shared_ptr<const EncryptedUpdateParams> params_ = std::make_shared<const EncryptedUpdateParams>(
      MatMulParams(spec_), he::paillier::testing::updates_with(key_.public_key().params()));
  std::vector<Bytes> replies_;
};

TEST_P(RepeatableEncryptedState, GivesTheSameSharesInAnotherSession) {
  const Saved saved = train_weights();
  const IntMatrix x = features_a();
  const auto first = product_in_a_session(keys_.a, 1, x, saved);
  EXPECT_EQ(product_in_a_session(keys_.a, 1, x, saved), first);
  EXPECT_EQ(product_in_a_session(keys_.a, 3, x, saved), first);
  const auto other = product_in_a_session(keys_.b, 1, x, saved);
  EXPECT_EQ(equal_values(other.first, first.first), 0U);
  EXPECT_EQ(equal_values(other.second, first.second), 0U);
  ASSERT_EQ(replies_.size(), 4U);
  EXPECT_NE(replies_[0], replies_[1]);
  EXPECT_NE(replies_[1], replies_[2]);
}

class RepeatableEncryptedEmbed : public RepeatableEncrypted {
 protected:
  [[nodiscard]] static EmbedMatMulSpec make_spec() {
    EmbedMatMulSpec spec;
    spec.fields_a = {{.field = {.name = "a0", .categories = 9}, .update = Update::kEncrypted}};
    spec.fields_b = {
        {.field = {.name = "b0", .categories = 7, .most = 3, .pooling = Pooling::kMean}, .update = Update::kEncrypted}};
    spec.dimension = 3;
    spec.out = 2;
    spec.batch = 6;
    spec.derivative = {.scale = 32, .largest = 4.0, .clip = false};
    spec.sgd = sgd();
    return spec;
  }
  Scores score(EmbedScorer& scorer, const Keys* keys) {
    return scorer.score(keys, [&](EmbedMatMul& layer, Party party) {
      return layer.forward(party == Party::kA ? x_a_ : x_b_, spec_.batch).output;
    });
  }
  void train(EmbedScorer& scorer) {
    const Derivative derivative = random_derivative(spec_, random_);
    scorer.parties.run([&](Session& session) {
      EmbedMatMul& layer = scorer.at(session);
      const bool at_a = session.party() == Party::kA;
      const auto forward = layer.forward(at_a ? x_a_ : x_b_, spec_.batch);
      take_step(layer, layer.backward(forward.pass, at_a ? absent_derivative(6, 6) : derivative), 0.1 / 6);
    });
  }

  EmbedMatMulSpec spec_ = make_spec();
  std::vector<IntMatrix> x_a_ = random_categories(spec_.fields_a, 6, random_);
  std::vector<IntMatrix> x_b_ = random_categories(spec_.fields_b, 6, random_);
};

TEST_P(RepeatableEncryptedEmbed, GivesTheSameBitsUntilItLearnsAgain) {
  EmbedScorer scorer({scheme_.get()}, spec_);
  train(scorer);
  const Scores scores = score(scorer, &keys_);
  EXPECT_EQ(equal_values(score(scorer, nullptr).at_a, scores.at_a), 0U);
  EXPECT_EQ(score(scorer, &keys_), scores);
  train(scorer);
  const RepeatableScoring at_a(scorer.parties.session(Party::kA), keys_.a);
  EXPECT_THROW((void)scorer.a->forward(x_a_, 6), InvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Momentum, RepeatableEncryptedMatMul, ::testing::Values(0.0, 0.9));
INSTANTIATE_TEST_SUITE_P(Momentum, RepeatableEncryptedState, ::testing::Values(0.0, 0.9));
INSTANTIATE_TEST_SUITE_P(Momentum, RepeatableEncryptedEmbed, ::testing::Values(0.0, 0.9));

}  // namespace
}  // namespace blindfl::protocol::repeatable_encrypted_test
