// Scoring the same batch again: the same shares and the same Z, bit for bit, in any session and with any number of
// threads, under ciphertexts that are as fresh as ever; and no training meanwhile.

#include "blindfl/protocol/session/repeatable_scoring.h"

#include <gtest/gtest.h>

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
        [&](Session& s) { return testing::product_owner(s, *plan_, kSteps, m_); });
    EXPECT_EQ(kept + opened, multiply(x, m_));
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
  std::shared_ptr<const he::Plan> plan_ = scheme_->plan({kRows, kInner, kCols, 1 << 16, 0, 32, 128});
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

}  // namespace
}  // namespace blindfl::protocol::repeatable_scoring_test
