// Scoring the same batch again: the same shares and the same Z, bit for bit, in any session and with any number of
// threads, under ciphertexts that are as fresh as ever or, where a scheme's messages may repeat, are the same again;
// and no training meanwhile.

#include "blindfl/protocol/session/repeatable_scoring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/protocol/session/product.h"
#include "blindfl/share/products.h"
#include "protocol/embed_fixture.h"
#include "protocol/matmul_fixture.h"
#include "protocol/repeatable_fixture.h"
#include "testing/product.h"
#include "testing/shares.h"
#include "testing/steps.h"
#include "testing/thrown.h"
#include "testing/uniformity.h"

namespace blindfl::protocol::repeatable_scoring_test {
namespace {

using Kind = IntMatrix::Kind;
void copy_weight(const Weight& from, Weight& to) {
  to.piece = from.piece;
  ++to.version;
}

class Repeatable : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme(GetParam());
  Schemes schemes_{scheme_.get()};
  SeededRandom random_{7};
  Keys keys_ = draw_keys();
};

class RepeatableMatMul : public Repeatable {
 protected:
  Scores score(MatMulScorer& scorer, const Keys* keys) { return score(scorer, keys, x_a_, x_b_); }
  static Scores score(MatMulScorer& scorer, const Keys* keys, const IntMatrix& x_a, const IntMatrix& x_b) {
    return scorer.score(keys,
                        [&](MatMul& layer, Party party) { return layer.forward(party == Party::kA ? x_a : x_b); });
  }
  /// A step of SGD, so that pieces are those of a trained model.
  void train(MatMulScorer& scorer) {
    const Derivative derivative = random_derivative(spec_, random_);
    scorer.parties.run([&](Session& session) {
      MatMul& layer = scorer.at(session);
      const bool at_a = session.party() == Party::kA;
      const MatMulGradients gradients =
          layer.backward(at_a ? x_a_ : x_b_, at_a ? absent_derivative(spec_.batch, spec_.batch) : derivative);
      Weight& weight = layer.weight(Party::kA);
      weight.piece -= multiply_public(gradients.weight_a.value(), PublicFactor(0.01), weight.piece.scale());
      ++weight.version;
    });
  }
  static void copy_pieces(MatMulScorer& from, MatMulScorer& to) {
    for (const Party party : {Party::kA, Party::kB}) {
      copy_weight(from.a->weight(party), to.a->weight(party));
      copy_weight(from.b->weight(party), to.b->weight(party));
    }
  }

  MatMulSpec spec_ = small_spec(9, 6, 3, 24);
  IntMatrix x_a_ = random_features(spec_.features_a, Kind::kDense, 24, 9, random_);
  IntMatrix x_b_ = random_features(spec_.features_b, Kind::kCsr, 24, 6, random_);
};

TEST_P(RepeatableMatMul, GivesTheSameBitsInAnotherSession) {
  MatMulScorer first(schemes_, spec_, 1);
  train(first);
  const Scores scores = score(first, &keys_);
  EXPECT_EQ(score(first, &keys_), scores);
  for (const std::size_t threads : {1, 3}) {
    MatMulScorer second(schemes_, spec_, threads);
    copy_pieces(first, second);
    EXPECT_EQ(score(second, &keys_), scores) << threads << " threads";
  }
  // Only masks are others: Z is that of any other scoring, but for the last bit.
  const Scores fresh = score(first, nullptr);
  for (std::size_t i = 0; i < scores.z.size(); ++i) EXPECT_NEAR(scores.z[i], fresh.z[i], 0x1p-15);
}

TEST_P(RepeatableMatMul, MasksDifferWithoutIt) {
  MatMulScorer scorer(schemes_, spec_);
  const Scores repeated = score(scorer, &keys_);
  const Scores fresh = score(scorer, nullptr);
  const Scores again = score(scorer, nullptr);
  for (const auto& [x, y] : {std::pair(&repeated, &fresh), std::pair(&fresh, &again)}) {
    EXPECT_EQ(equal_values(x->at_a, y->at_a), 0U);
    EXPECT_EQ(equal_values(x->at_b, y->at_b), 0U);
  }
}

TEST_P(RepeatableMatMul, GivesOtherMasksForAnotherBatchModelOrKey) {
  MatMulScorer scorer(schemes_, spec_);
  const Scores scores = score(scorer, &keys_);
  std::vector<std::uint32_t> reversed(24);
  for (std::uint32_t r = 0; r < 24; ++r) reversed[r] = 23 - r;
  const Keys other_model{keys_.a.for_model("other"), keys_.b.for_model("other")};
  const Keys other_keys = draw_keys();
  for (const Scores& other : {score(scorer, &keys_, x_a_.select_rows(reversed), x_b_.select_rows(reversed)),
                              score(scorer, &other_model), score(scorer, &other_keys)}) {
    EXPECT_EQ(equal_values(other.at_a, scores.at_a), 0U);
    EXPECT_EQ(equal_values(other.at_b, scores.at_b), 0U);
  }
}

TEST_P(RepeatableMatMul, RefusesToTrain) {
  MatMulScorer scorer(schemes_, spec_);
  const Derivative derivative = random_derivative(spec_, random_);
  Session& a = scorer.parties.session(Party::kA);
  Session& b = scorer.parties.session(Party::kB);
  {
    const RepeatableScoring at_a(a, keys_.a);
    const RepeatableScoring at_b(b, keys_.b);
    const std::string message =
        testing::message_of<InvalidArgument>([&] { (void)scorer.a->backward(x_a_, absent_derivative(24, 24)); });
    EXPECT_NE(message.find("scoring only"), std::string::npos) << message;
    EXPECT_THROW((void)scorer.b->backward(x_b_, derivative), InvalidArgument);
    EXPECT_FALSE(scorer.parties.recording(Party::kB).sent().contains(steps::kDerivativeOperand));
    EXPECT_THROW(RepeatableScoring(a, keys_.a), InvalidArgument);
    EXPECT_TRUE(a.repeats_masks());
  }
  EXPECT_FALSE(a.repeats_masks());
  EXPECT_NO_THROW(train(scorer));
}

TEST_P(RepeatableMatMul, RefusesWeightsThatChangedUnderTheSameModel) {
  MatMulScorer scorer(schemes_, spec_);
  (void)score(scorer, &keys_);
  train(scorer);
  (void)score(scorer, nullptr);
  {
    const RepeatableScoring at_a(scorer.parties.session(Party::kA), keys_.a);
    const std::string message = testing::message_of<InvalidArgument>([&] { (void)scorer.a->forward(x_a_); });
    EXPECT_NE(message.find("weights changed"), std::string::npos) << message;
  }
  const Keys next{keys_.a.for_model("trained"), keys_.b.for_model("trained")};
  EXPECT_EQ(score(scorer, &next), score(scorer, &next));
}

INSTANTIATE_TEST_SUITE_P(Schemes, RepeatableMatMul, ::testing::ValuesIn(testing::scheme_names()));

class RepeatableEmbed : public Repeatable {
 protected:
  static EmbedMatMulSpec make_spec() {
    EmbedMatMulSpec spec;
    spec.fields_a = {{.field = {.name = "a0", .categories = 5}},
                     {.field = {.name = "a1", .categories = 30, .most = 3, .pooling = Pooling::kMean}}};
    spec.fields_b = {{.field = {.name = "b0", .categories = 8}}};
    spec.dimension = 4;
    spec.out = 2;
    spec.batch = 12;
    return spec;
  }
  Scores score(EmbedScorer& scorer, const Keys* keys) {
    return scorer.score(keys, [&](EmbedMatMul& layer, Party party) {
      return layer.forward(party == Party::kA ? x_a_ : x_b_, spec_.batch).output;
    });
  }

  EmbedMatMulSpec spec_ = make_spec();
  std::vector<IntMatrix> x_a_ = random_categories(spec_.fields_a, 12, random_);
  std::vector<IntMatrix> x_b_ = random_categories(spec_.fields_b, 12, random_);
};

TEST_P(RepeatableEmbed, GivesTheSameBitsInAnotherSession) {
  EmbedScorer first(schemes_, spec_, 1);
  // Pieces that no seed gives, as training makes them.
  Random random;
  ShareMatrix& piece = first.a->weight()->piece;
  const ShareMatrix moved = random_share(piece.rows(), piece.cols(), piece.scale(), random);
  piece += moved;
  first.b->weight()->piece -= moved;
  const Scores scores = score(first, &keys_);
  EXPECT_EQ(score(first, &keys_), scores);
  EXPECT_EQ(equal_values(score(first, nullptr).at_a, scores.at_a), 0U);
  for (const std::size_t threads : {1, 3}) {
    EmbedScorer second(schemes_, spec_, threads);
    const auto copy = [](EmbedMatMul& from, EmbedMatMul& to) {
      copy_weight(*from.weight(), *to.weight());
      for (std::size_t t = 0; t < from.tables().size(); ++t) {
        copy_weight(*from.tables()[t]->weight(), *to.tables()[t]->weight());
      }
    };
    copy(*first.a, *second.a);
    copy(*first.b, *second.b);
    EXPECT_EQ(score(second, &keys_), scores) << threads << " threads";
  }
}

TEST_P(RepeatableEmbed, RefusesToTrainAndWeightsThatChanged) {
  EmbedScorer scorer(schemes_, spec_);
  (void)score(scorer, &keys_);
  const RepeatableScoring at_a(scorer.parties.session(Party::kA), keys_.a);
  const EmbedPass pass{x_a_, ShareMatrix(12, 12, spec_.embedding_scale)};
  EXPECT_THROW((void)scorer.a->backward(pass, absent_derivative(12, 12)), InvalidArgument);
  ++scorer.a->tables()[1]->weight()->version;
  EXPECT_THROW((void)scorer.a->forward(x_a_, 12), InvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Schemes, RepeatableEmbed, ::testing::ValuesIn(testing::scheme_names()));

/// The product alone, A multiplying: a mask is what A keeps.
class RepeatableProduct : public Repeatable {
 protected:
  static constexpr std::size_t kRows = 700;
  static constexpr std::size_t kInner = 3;
  static constexpr std::size_t kCols = 2;
  static constexpr ProductSteps kSteps{steps::kForwardOperand, steps::kForwardProduct, 0};

  struct Product {
    ShareMatrix kept;
    ShareMatrix opened;
  };
  Product multiply_in(testing::TwoParties& parties, const IntMatrix& x) {
    auto [kept, opened] = parties.run(
        [&](Session& s) {
          const RepeatableScoring repeatable(s, keys_.a);
          return testing::product_multiplier(s, *plan_, kSteps, x);
        },
        [&](Session& s) {
          const RepeatableScoring repeatable(s, keys_.b);
          return testing::product_owner(s, *plan_, kSteps, m_);
        });
    EXPECT_TRUE(testing::within(plan_->largest_error(), kept + opened, multiply(x, m_)));
    return {std::move(kept), std::move(opened)};
  }
  /// What A sent.
  static std::vector<Bytes> replies(testing::TwoParties& parties) {
    std::vector<Bytes> found;
    for (const testing::RecordedMessage& sent : parties.recording(Party::kA).messages()) {
      if (sent.direction == net::Direction::kSent && sent.message.step == kSteps.reply) found.push_back(sent.payload);
    }
    return found;
  }

  Random fresh_;
  std::shared_ptr<const he::Plan> plan_ = scheme_->plan(
      {.rows = kRows, .inner = kInner, .cols = kCols, .left_bound = 1 << 16, .right_scale = 32, .noise_bits = 40});
  ShareMatrix m_ = random_share(kInner, kCols, 32, fresh_);
  IntMatrix x_ = testing::random_matrix(Kind::kDense, kRows, kInner, 0, 1 << 16, random_);
  testing::TwoParties parties_{*scheme_};
};

TEST_P(RepeatableProduct, MasksAreUniformAndThoseOfTwoBatchesIndependent) {
  std::vector<std::int64_t> values = x_.to_dense();
  values.back() = values.back() == 0 ? 1 : -values.back();
  const IntMatrix nearly = IntMatrix::dense(kRows, kInner, values, 0, 1 << 16);
  const Product first = multiply_in(parties_, x_);
  const Product second = multiply_in(parties_, nearly);
  for (const ShareMatrix& seen :
       {first.kept, first.opened, second.opened, first.kept - second.kept, first.opened - second.opened}) {
    EXPECT_TRUE(testing::looks_uniform<UInt128>(seen.values()));
  }
}

TEST_P(RepeatableProduct, EqualRowsOfABatchHaveDifferentMasks) {
  const Product product = multiply_in(parties_, x_.select_rows(std::vector<std::uint32_t>(kRows, 5)));
  const std::set<UInt128> masks(product.kept.values().begin(), product.kept.values().end());
  EXPECT_EQ(masks.size(), kRows * kCols);
  EXPECT_TRUE(testing::looks_uniform<UInt128>(product.opened.values()));
}

// What is encrypted again is encrypted afresh: within a session, where operand and mask are the same, and in another.
TEST_P(RepeatableProduct, CiphertextsAreFresh) {
  if (scheme_->name() == "plain") GTEST_SKIP() << "encrypts nothing";
  if (scheme_->repeats_messages()) GTEST_SKIP() << "whole messages repeat";
  testing::TwoParties other(*scheme_);
  const Product first = multiply_in(parties_, x_);
  EXPECT_EQ(multiply_in(parties_, x_).opened, first.opened);
  EXPECT_EQ(multiply_in(other, x_).opened, first.opened);
  std::vector<Bytes> sent = replies(parties_);
  sent.push_back(replies(other).at(0));
  ASSERT_EQ(sent.size(), 3U);
  for (const auto& [i, j] : {std::pair(0, 1), std::pair(0, 2), std::pair(1, 2)}) {
    ASSERT_EQ(sent[i].size(), sent[j].size());
    // The key's name is the same, and a few bytes are by chance.
    std::size_t equal = 0;
    for (std::size_t k = 0; k < sent[i].size(); ++k) equal += sent[i][k] == sent[j][k] ? 1 : 0;
    EXPECT_LT(equal, 64 + sent[i].size() / 64);
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, RepeatableProduct, ::testing::ValuesIn(testing::scheme_names()));

/// Schemes whose messages may repeat. The noisy one ends messages with 16 bytes that it drew, after all else.
class RepeatableMessages : public RepeatableMatMul {
 protected:
  /// All that `party` sent since it sent this many messages.
  static std::vector<testing::RecordedMessage> sent_by(MatMulScorer& scorer, Party party, std::size_t since = 0) {
    std::vector<testing::RecordedMessage> sent;
    for (const testing::RecordedMessage& m : scorer.parties.recording(party).messages()) {
      if (m.direction == net::Direction::kSent) sent.push_back(m);
    }
    sent.erase(sent.begin(), sent.begin() + static_cast<std::ptrdiff_t>(since));
    return sent;
  }
  struct Sent {
    std::vector<net::Step> steps;
    std::vector<Bytes> payloads;
  };
  static Sent parts_of(const std::vector<testing::RecordedMessage>& messages) {
    Sent parts;
    for (const testing::RecordedMessage& m : messages) {
      parts.steps.push_back(m.message.step);
      parts.payloads.push_back(m.payload);
    }
    return parts;
  }
  /// Everything that both parties send in a scoring.
  std::pair<Sent, Sent> messages_of(MatMulScorer& scorer, const Keys& keys, Scores* scores = nullptr) {
    const std::size_t of_a = sent_by(scorer, Party::kA).size();
    const std::size_t of_b = sent_by(scorer, Party::kB).size();
    const Scores scored = score(scorer, &keys);
    if (scores != nullptr) *scores = scored;
    return {parts_of(sent_by(scorer, Party::kA, of_a)), parts_of(sent_by(scorer, Party::kB, of_b))};
  }
  static const Bytes& first_of(const Sent& sent, net::Step step) {
    const auto found = std::ranges::find(sent.steps, step);
    EXPECT_NE(found, sent.steps.end());
    return sent.payloads.at(static_cast<std::size_t>(found - sent.steps.begin()));
  }
};

TEST_P(RepeatableMessages, AreTheSameInAnotherSessionByteForByte) {
  MatMulScorer first(schemes_, spec_, 1);
  train(first);
  Scores scores;
  const auto [from_a, from_b] = messages_of(first, keys_, &scores);
  EXPECT_EQ(from_a.steps.front(), net::Step(steps::kScoringCoin));
  for (const std::size_t threads : {1, 3}) {
    MatMulScorer second(schemes_, spec_, threads);
    copy_pieces(first, second);
    // Whatever the second session did before, and made ahead.
    (void)score(second, nullptr);
    for (const Party party : {Party::kA, Party::kB}) {
      while (second.parties.session(party).prepare()) {
      }
    }
    Scores again;
    const auto [from_a_again, from_b_again] = messages_of(second, keys_, &again);
    EXPECT_EQ(from_a_again.payloads, from_a.payloads);
    EXPECT_EQ(from_b_again.payloads, from_b.payloads);
    EXPECT_EQ(again, scores);
  }
  EXPECT_EQ(score(first, &keys_), scores);
}

TEST_P(RepeatableMessages, AreOthersWhereAnythingElseIs) {
  MatMulScorer scorer(schemes_, spec_);
  const std::pair<Sent, Sent> from_both = messages_of(scorer, keys_);
  const auto expect_unrelated = [&](const std::pair<Sent, Sent>& other, const std::string& what) {
    for (const auto& [mine, theirs] :
         {std::pair(&from_both.first, &other.first), std::pair(&from_both.second, &other.second)}) {
      const Bytes& x = first_of(*mine, steps::kForwardProduct);
      const Bytes& y = first_of(*theirs, steps::kForwardProduct);
      ASSERT_EQ(x.size(), y.size());
      EXPECT_FALSE(std::equal(x.end() - 16, x.end(), y.end() - 16)) << what;
    }
  };
  expect_unrelated(messages_of(scorer, {keys_.a.for_model("other"), keys_.b.for_model("other")}), "model");
  expect_unrelated(messages_of(scorer, draw_keys()), "keys");
  // B's key alone is another: A's keys, and with them all that is under them, are others, too.
  const auto half = messages_of(scorer, {keys_.a, draw_keys().b});
  expect_unrelated(half, "the peer's key");
  EXPECT_EQ(first_of(half.first, steps::kScoringCoin), first_of(from_both.first, steps::kScoringCoin));
  const Bytes& key = first_of(from_both.first, steps::kPublicKey);
  const Bytes& other_key = first_of(half.first, steps::kPublicKey);
  EXPECT_FALSE(std::equal(key.begin() + 8, key.begin() + 24, other_key.begin() + 8)) << "what is secret, as well";
  // Another batch, at A alone: A's replies are others, and B's, for the same features, are the same.
  std::vector<std::uint32_t> reversed(24);
  for (std::uint32_t r = 0; r < 24; ++r) reversed[r] = 23 - r;
  x_a_ = x_a_.select_rows(reversed);
  const auto batch = messages_of(scorer, keys_);
  EXPECT_NE(first_of(batch.first, steps::kForwardProduct), first_of(from_both.first, steps::kForwardProduct));
  EXPECT_EQ(first_of(batch.second, steps::kForwardProduct), first_of(from_both.second, steps::kForwardProduct));
}

TEST_P(RepeatableMessages, AreUnderKeysOfTheirOwn) {
  MatMulScorer scorer(schemes_, spec_);
  (void)score(scorer, nullptr);
  const auto key_of = [&](bool repeat) {
    return scorer.parties
        .run([&](Session& s) {
          std::optional<RepeatableScoring> repeatable;
          if (repeat) repeatable.emplace(s, s.party() == Party::kA ? keys_.a : keys_.b);
          const SchemeKeys& keys = s.keys("", scheme_->key_sets().back());
          EXPECT_EQ(keys.repeat(), repeat);
          return keys.owner->public_key();
        })
        .first;
  };
  const Bytes trained_with = key_of(false);
  const Bytes scored_with = key_of(true);
  EXPECT_NE(trained_with, scored_with);
  EXPECT_EQ(key_of(false), trained_with) << "which are there again afterwards";
  EXPECT_EQ(key_of(true), scored_with);
}

TEST_P(RepeatableMessages, TakeTheKeysOfTheirScoringOnly) {
  MatMulScorer scorer(schemes_, spec_);
  Random random;
  const auto plan =
      scheme_->plan({.rows = 24, .inner = 3, .cols = 2, .left_bound = 100, .right_scale = 32, .noise_bits = 40});
  const ShareMatrix m = random_share(3, 2, 32, random);
  constexpr ProductSteps kSteps{steps::kForwardOperand, steps::kForwardProduct, 0};
  scorer.parties.run([&](Session& s) {
    const MaskKey& key = s.party() == Party::kA ? keys_.a : keys_.b;
    const SchemeKeys& fresh = testing::keys_for(s, *plan);
    const SchemeKeys* scoring = nullptr;
    {
      const RepeatableScoring repeatable(s, key);
      scoring = &testing::keys_for(s, *plan);
      EXPECT_THROW(send_operand(s, fresh, *plan, kSteps, m), InvalidArgument) << "the session's";
    }
    EXPECT_THROW(send_operand(s, *scoring, *plan, kSteps, m), InvalidArgument) << "after its end";
  });
}

INSTANTIATE_TEST_SUITE_P(Schemes, RepeatableMessages, ::testing::Values("noisy"));

/// The product alone, A multiplying, noise in both parties' shares: which of its randomness depends on what.
class RepeatableNoise : public ::testing::Test {
 protected:
  struct Setting {
    he::ProductSpec spec{12, 3, 2, 1 << 16, 0, 32, 128, 0, 128, 24};
    ProductSteps steps{steps::kForwardOperand, steps::kForwardProduct, 0};
    std::int64_t x = 1;  ///< the first value of X
    UInt128 m = 1;       ///< the first value of M
  };
  /// What was drawn for the operand, and for the reply, and the noise in the owner's share.
  struct Drawn {
    Bytes operand;
    Bytes reply;
    std::vector<UInt128> noise;
  };
  Drawn draw(const Setting& setting) {
    const auto plan = scheme_.plan(setting.spec);
    const he::ProductSpec& spec = plan->spec();
    std::vector<std::int64_t> left(spec.rows * spec.inner, 5);
    left[0] = setting.x;
    const IntMatrix x = IntMatrix::dense(spec.rows, spec.inner, left, spec.left_scale, spec.left_bound);
    ShareMatrix m(spec.inner, spec.cols, spec.right_scale, spec.ring_bits);
    m.values()[0] = setting.m;
    testing::TwoParties parties(scheme_);
    const auto [kept, opened] = parties.run(
        [&](Session& s) {
          const RepeatableScoring repeatable(s, keys_.a);
          return testing::product_multiplier(s, *plan, setting.steps, x);
        },
        [&](Session& s) {
          const RepeatableScoring repeatable(s, keys_.b);
          return testing::product_owner(s, *plan, setting.steps, m);
        });
    const ShareMatrix error = kept + opened - narrowed(multiply(x, m), spec.ring_bits);
    for (const UInt128 v : error.values()) {
      EXPECT_LT(std::abs(static_cast<double>(signed_low_bits(v, spec.ring_bits))), std::exp2(spec.noise_bits));
    }
    Drawn drawn;
    for (const testing::RecordedMessage& message : parties.recording(Party::kA).messages()) {
      const Bytes& bytes = message.payload;
      if (message.message.step == setting.steps.operand) drawn.operand.assign(bytes.end() - 16, bytes.end());
      if (message.message.step != setting.steps.reply) continue;
      drawn.reply.assign(bytes.end() - 16, bytes.end());
      // The share is what arrived and the owner's noise.
      ShareMatrix arrived(spec.rows, spec.cols, spec.result_scale(), spec.ring_bits);
      BufferSource in(ByteView(bytes).subspan(16));
      in.read_u128(arrived.values());
      const ShareMatrix noise = opened - arrived;
      drawn.noise.assign(noise.values().begin(), noise.values().end());
    }
    return drawn;
  }

  testing::PlainScheme scheme_{{.noisy = true}};
  Keys keys_ = draw_keys();
};

TEST_F(RepeatableNoise, IsTheSameForTheSameProductAndAnotherForAnyOther) {
  const Drawn first = draw({});
  EXPECT_NE(first.noise, std::vector<UInt128>(first.noise.size(), 0));
  const Drawn again = draw({});
  EXPECT_EQ(again.operand, first.operand);
  EXPECT_EQ(again.reply, first.reply);
  EXPECT_EQ(again.noise, first.noise);

  // Another X: the operand is the same message, and what answers it is not.
  const Drawn other_x = draw({.x = 2});
  EXPECT_EQ(other_x.operand, first.operand);
  EXPECT_NE(other_x.reply, first.reply);
  EXPECT_NE(other_x.noise, first.noise);

  const auto expect_unrelated = [&](const Setting& setting, const std::string& what, bool same_operand = false) {
    const Drawn other = draw(setting);
    EXPECT_EQ(other.operand == first.operand, same_operand) << what;
    EXPECT_NE(other.reply, first.reply) << what;
    EXPECT_NE(other.noise, first.noise) << what;
  };
  expect_unrelated({.m = 2}, "M");
  for (const auto& [what, change] : std::vector<std::pair<std::string, void (*)(Setting&)>>{
           {"operand and reply of another step",
            [](Setting& s) {
              s.steps = {steps::kTableOperand, steps::kLookupProduct, 0};
            }},
           {"layer", [](Setting& s) { s.steps.layer = 1; }},
           {"ring", [](Setting& s) { s.spec.ring_bits = 120; }},
           {"bits of M", [](Setting& s) { s.spec.right_bits = 90; }}}) {
    Setting setting;
    change(setting);
    expect_unrelated(setting, what);
  }
  // What is of the left matrix or of replies alone: one operand serves all of these.
  for (const auto& [what, change] : std::vector<std::pair<std::string, void (*)(Setting&)>>{
           {"noise bits", [](Setting& s) { s.spec.noise_bits = 23; }},
           {"values of the run", [](Setting& s) { s.spec.run_values = 1000; }},
           {"bound", [](Setting& s) { s.spec.left_bound = 1 << 15; }},
           {"scale", [](Setting& s) { s.spec.left_scale = 3; }}}) {
    Setting setting;
    change(setting);
    expect_unrelated(setting, what, true);
  }
}

}  // namespace
}  // namespace blindfl::protocol::repeatable_scoring_test
