#include "blindfl/protocol/layers/embed_matmul.h"

#include <gtest/gtest.h>

#include <cmath>

#include "blindfl/base/error.h"
#include "protocol/embed_fixture.h"
#include "testing/label.h"
#include "testing/shares.h"
#include "testing/steps.h"
#include "testing/thrown.h"

namespace blindfl::protocol::embed_matmul_test {
namespace {

constexpr std::size_t kBatch = 12;

/// Two fields of A, three of B; one of them summed, one averaged.
EmbedMatMulSpec small_embed() {
  EmbedMatMulSpec spec;
  spec.fields_a = {{.field = {.name = "a0", .categories = 5}},
                   {.field = {.name = "a1", .categories = 9, .most = 3, .pooling = Pooling::kSum}}};
  spec.fields_b = {{.field = {.name = "b0", .categories = 2}},
                   {.field = {.name = "b1", .categories = 7, .most = 4, .pooling = Pooling::kMean}},
                   {.field = {.name = "b2", .categories = 13}}};
  spec.dimension = 4;
  spec.out = 3;
  spec.batch = kBatch;
  spec.table_deviation = 1.0;
  spec.initial_deviation = 0.5;
  return spec;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& want, double tolerance, const char* what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], tolerance) << what << " " << i;
}

class EmbedMatMulLayer : public ::testing::TestWithParam<std::string> {
 protected:
  /// Forward and backward once, compared with the same on doubles.
  void expect_a_pass_like_plain(EmbedPair& pair, const EmbedMatMulSpec& spec, const std::vector<IntMatrix>& x_a,
                                const std::vector<IntMatrix>& x_b) {
    const PlainEmbed plain(pair, spec);
    const auto x = side_by_side(x_a, x_b);
    const auto [at_a, at_b] = pair.forward(x_a, x_b, kBatch);
    expect_near(decode_ring(open(at_a.output.share, at_b.output.share)), plain.output(x), 1e-4, "Z");
    const Derivative dz = random_derivative(spec, random_);
    const auto [grad_a, grad_b] = pair.backward(at_a.pass, at_b.pass, dz);
    const PlainEmbed::Gradients expected = plain.gradients(x, dz);
    expect_near(decode_ring(open(grad_a.weight, grad_b.weight)), expected.weight, 1e-4, "dW");
    for (std::size_t t = 0; t < x.size(); ++t) {
      expect_near(decode_ring(open(*grad_a.tables[t], *grad_b.tables[t])), expected.tables[t], 1e-4, "dQ");
    }
  }

  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme(GetParam());
  SeededRandom random_{7};
};

TEST_P(EmbedMatMulLayer, OutputsAndGradientsAreThoseOfTheLayerInTheClear) {
  const EmbedMatMulSpec spec = small_embed();
  EmbedPair pair(*scheme_, spec);
  expect_a_pass_like_plain(pair, spec, random_categories(spec.fields_a, kBatch, random_),
                           random_categories(spec.fields_b, kBatch, random_));
}

TEST_P(EmbedMatMulLayer, WorksWhereOnePartyHasNoFields) {
  for (const bool a_has : {true, false}) {
    EmbedMatMulSpec spec = small_embed();
    (a_has ? spec.fields_b : spec.fields_a).clear();
    EmbedPair pair(*scheme_, spec);
    expect_a_pass_like_plain(pair, spec, random_categories(spec.fields_a, kBatch, random_),
                             random_categories(spec.fields_b, kBatch, random_));
  }
}

TEST_P(EmbedMatMulLayer, ACategoryThatEveryRowSharesIsLookedUpByAll) {
  const EmbedMatMulSpec spec = small_embed();
  EmbedPair pair(*scheme_, spec);
  auto x_a = random_categories(spec.fields_a, kBatch, random_);
  x_a[0] = encode_categories(spec.fields_a[0].field, std::vector<IntMatrix::Column>(kBatch, 3));
  expect_a_pass_like_plain(pair, spec, x_a, random_categories(spec.fields_b, kBatch, random_));
}

TEST_P(EmbedMatMulLayer, RowsWithoutCategoriesHaveAnOutputOfZero) {
  const EmbedMatMulSpec spec = small_embed();
  EmbedPair pair(*scheme_, spec);
  const auto empty = [](const std::vector<EmbedField>& fields) {
    std::vector<IntMatrix> all;
    all.reserve(fields.size());
    for (const EmbedField& f : fields) {
      all.push_back(encode_categories(f.field, std::vector<std::size_t>(kBatch + 1), std::vector<IntMatrix::Column>{}));
    }
    return all;
  };
  const auto [at_a, at_b] = pair.forward(empty(spec.fields_a), empty(spec.fields_b), kBatch);
  for (const double z : decode_ring(open(at_a.output.share, at_b.output.share))) EXPECT_NEAR(z, 0, 1e-4);
}

TEST_P(EmbedMatMulLayer, AShortBatchsGradientIsThatOfItsMeanLoss) {
  const EmbedMatMulSpec spec = small_embed();
  EmbedPair pair(*scheme_, spec);
  const PlainEmbed plain(pair, spec);
  const std::vector<std::uint32_t> three{0, 1, 2};
  const auto cut = [&](const std::vector<EmbedField>& fields) {
    std::vector<IntMatrix> all;
    for (const IntMatrix& x : random_categories(fields, kBatch, random_)) all.push_back(x.select_rows(three, kBatch));
    return all;
  };
  const auto x_a = cut(spec.fields_a);
  const auto x_b = cut(spec.fields_b);
  const auto [at_a, at_b] = pair.forward(x_a, x_b, kBatch);
  const std::vector<double> dz{1, -1, 0.5, 0.25, -0.125, 1, 0.75, 0, -1};
  const Derivative derivative = encode_derivative(FixedPoint(spec.derivative), kBatch, 3, dz);
  const auto [grad_a, grad_b] = pair.backward(at_a.pass, at_b.pass, derivative);
  PlainEmbed::Gradients expected = plain.gradients(side_by_side(x_a, x_b), derivative);
  const auto scaled = [](std::vector<double> v) {
    for (double& x : v) x *= static_cast<double>(kBatch) / 3;
    return v;
  };
  // Noise of the product, of the derivatives by embeddings that are added up, and of what is rounded.
  const double tolerance = 1e-4 + (testing::is_exact(GetParam()) ? 0 : 4 * std::exp2(-gradient_precision(kBatch)));
  expect_near(decode_ring(open(grad_a.weight, grad_b.weight)), scaled(expected.weight), tolerance, "dW");
  expect_near(decode_ring(open(*grad_a.tables[0], *grad_b.tables[0])), scaled(expected.tables[0]), tolerance, "dQ");
}

TEST_P(EmbedMatMulLayer, PiecesOfTheLargestEmbeddingsAreExactAndShort) {
  const EmbedMatMulSpec spec = small_embed();
  EmbedPair pair(*scheme_, spec);
  // Tables of +-16, in shares that fill the ring; of the sum there may be three.
  Random random;
  const std::size_t tables = pair.at(Party::kA).tables().size();
  for (std::size_t t = 0; t < tables; ++t) {
    Weight& at_a = *pair.at(Party::kA).tables()[t]->weight();
    Weight& at_b = *pair.at(Party::kB).tables()[t]->weight();
    std::vector<double> values(at_a.piece.values().size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 3 == 0 ? -16.0 : i % 3 == 1 ? 16.0 : 0.0;
    const ShareMatrix table = encode_ring(at_a.piece.rows(), at_a.piece.cols(), values, at_a.piece.scale(), 16.0);
    std::tie(at_a.piece, at_b.piece) = split(table, random);
    ++at_a.version;
    ++at_b.version;
  }
  const PlainEmbed plain(pair, spec);
  const auto x_a = random_categories(spec.fields_a, kBatch, random_);
  const auto x_b = random_categories(spec.fields_b, kBatch, random_);
  const auto [at_a, at_b] = pair.forward(x_a, x_b, kBatch);
  const auto embeddings = decode_ring(open(at_a.pass.embeddings, at_b.pass.embeddings));
  expect_near(embeddings, plain.embeddings(side_by_side(x_a, x_b)), 2 * std::exp2(-spec.embedding_scale), "E");
  for (const ShareMatrix* pieces : {&at_a.pass.embeddings, &at_b.pass.embeddings}) {
    for (const UInt128 v : pieces->values()) {
      const auto piece = static_cast<Int128>(v);
      EXPECT_LT(piece < 0 ? -piece : piece, static_cast<Int128>(1) << 62);
    }
  }
}

TEST_P(EmbedMatMulLayer, WhatHasNotChangedIsNotSentAgain) {
  const EmbedMatMulSpec spec = small_embed();
  EmbedPair pair(*scheme_, spec);
  const auto x_a = random_categories(spec.fields_a, kBatch, random_);
  const auto x_b = random_categories(spec.fields_b, kBatch, random_);
  const auto operands = [&] {
    std::size_t count = 0;
    for (const auto& m : pair.parties.recording(Party::kA).messages()) {
      count += m.message.step == steps::kTableOperand || m.message.step == steps::kWeightOperand ? 1 : 0;
    }
    return count;
  };
  (void)pair.forward(x_a, x_b, kBatch);
  EXPECT_EQ(operands(), 7U);
  (void)pair.forward(x_a, x_b, kBatch);
  EXPECT_EQ(operands(), 7U);
  for (const Party party : {Party::kA, Party::kB}) ++pair.at(party).tables()[1]->weight()->version;
  (void)pair.forward(x_a, x_b, kBatch);
  EXPECT_EQ(operands(), 8U);
}

TEST_P(EmbedMatMulLayer, WorksOverALinkThatHoldsFewBytes) {
  const EmbedMatMulSpec spec = small_embed();
  EmbedPair pair(*scheme_, spec, net::make_memory_channels(/*capacity=*/100));
  expect_a_pass_like_plain(pair, spec, random_categories(spec.fields_a, kBatch, random_),
                           random_categories(spec.fields_b, kBatch, random_));
}

INSTANTIATE_TEST_SUITE_P(AllSchemes, EmbedMatMulLayer, ::testing::ValuesIn(testing::scheme_names()),
                         [](const auto& info) { return info.param; });

/// The optimizer's arithmetic, for fields that are exchanged, and the layers' own for the others.
class TrainedEmbed {
 public:
  TrainedEmbed(const he::Scheme& scheme, const EmbedMatMulSpec& spec)
      : spec_(spec), plan_(spec.sgd), pair_(scheme, spec), plain_(pair_, spec) {}

  void step(std::size_t t, SeededRandom& random) {
    const auto x_a = random_categories(spec_.fields_a, spec_.batch, random);
    const auto x_b = random_categories(spec_.fields_b, spec_.batch, random);
    const auto x = side_by_side(x_a, x_b);
    const auto [at_a, at_b] = pair_.forward(x_a, x_b, spec_.batch);
    expect_near(decode_ring(open(at_a.output.share, at_b.output.share)), plain_.output(x), 1e-4, "Z");
    const Derivative dz = random_derivative(spec_, random);
    const auto [grad_a, grad_b] = pair_.backward(at_a.pass, at_b.pass, dz);
    apply(pair_.at(Party::kA), grad_a, t);
    apply(pair_.at(Party::kB), grad_b, t);
    plain_.step(plan_, t, plain_.gradients(x, dz), spec_.batch);
  }
  void expect_the_same(double tolerance) {
    expect_near(pair_.weight(), plain_.weight(), tolerance, "W");
    for (std::size_t t = 0; t < pair_.at(Party::kA).tables().size(); ++t) {
      expect_near(pair_.table(t), plain_.table(t), tolerance, "Q");
    }
  }
  [[nodiscard]] EmbedPair& pair() { return pair_; }

 private:
  void apply(EmbedMatMul& layer, const EmbedGradients& gradients, std::size_t t) {
    const auto learn = [&](Weight& weight, const ShareMatrix& gradient) {
      ShareMatrix& buffer = buffers_[&weight];
      ShareMatrix direction = gradient;
      if (!buffer.values().empty()) {
        direction += multiply_public(buffer, PublicFactor(plan_.options().momentum), gradient.scale());
      }
      buffer = direction;
      const double rate = plan_.learning_rate_at(t) / static_cast<double>(spec_.batch);
      weight.piece -= multiply_public(direction, PublicFactor(rate), weight.piece.scale());
      ++weight.version;
    };
    learn(*layer.weight(), gradients.weight);
    for (std::size_t i = 0; i < layer.tables().size(); ++i) {
      Weight& weight = *layer.tables()[i]->weight();
      EXPECT_EQ(gradients.tables[i].has_value(), weight.update == nullptr);
      if (weight.update) {
        weight.update->step();
      } else {
        learn(weight, *gradients.tables[i]);
      }
    }
  }

  EmbedMatMulSpec spec_;
  SgdPlan plan_;
  EmbedPair pair_;
  PlainEmbed plain_;
  std::map<const Weight*, ShareMatrix> buffers_;
};

/// All fields of a layer, or every second one, updated under encryption.
EmbedMatMulSpec encrypted_embed(const SgdOptions& sgd, bool all) {
  EmbedMatMulSpec spec = small_embed();
  spec.batch = kBatch;
  spec.sgd = sgd;
  bool now = true;
  for (std::vector<EmbedField>* fields : {&spec.fields_a, &spec.fields_b}) {
    for (EmbedField& f : *fields) {
      if (now || all) f.update = Update::kEncrypted;
      now = !now;
    }
  }
  return spec;
}

TEST(EncryptedEmbed, TablesLearnAsPlainSgdDoes) {
  const auto scheme = testing::make_scheme("paillier");
  for (const double momentum : testing::kFull ? std::vector{0.0, 0.5, 0.9} : std::vector{0.9}) {
    const SgdOptions sgd{.learning_rate = 0.2, .momentum = momentum, .schedule = {{15, 0.05}}, .steps = 60};
    TrainedEmbed trained(*scheme, encrypted_embed(sgd, /*all=*/momentum == 0.5));
    SeededRandom random(3);
    // Windows of 32 / log2(1 / 0.5) = 32 steps: a second one begins.
    const std::size_t steps = !testing::kFull ? 6 : momentum == 0.5 ? 40 : 20;
    for (std::size_t t = 0; t < steps; ++t) {
      trained.step(t, random);
      if (::testing::Test::HasFatalFailure()) return;
    }
    trained.expect_the_same(1e-3);
  }
}

TEST(EncryptedEmbed, TablesLearnUnderKeysAsShipped) {
  const auto scheme = testing::make_scheme("paillier_2048");
  const SgdOptions sgd{.learning_rate = 0.2, .momentum = 0.9, .steps = 100000};
  TrainedEmbed trained(*scheme, encrypted_embed(sgd, /*all=*/true));
  SeededRandom random(4);
  for (std::size_t t = 0; t < 2; ++t) trained.step(t, random);
  trained.expect_the_same(1e-3);
}

TEST(EncryptedEmbed, TrafficDoesNotDependOnTheNumberOfCategories) {
  const auto scheme = testing::make_scheme("paillier");
  const auto traffic = [&](std::size_t categories) {
    EmbedMatMulSpec spec = encrypted_embed({.learning_rate = 0.1, .momentum = 0.9, .steps = 10}, /*all=*/true);
    spec.fields_a[0].field.categories = spec.fields_b[2].field.categories = categories;
    EmbedPair pair(*scheme, spec);
    SeededRandom random(1);
    const auto x_a = random_categories(spec.fields_a, kBatch, random);
    const auto x_b = random_categories(spec.fields_b, kBatch, random);
    const auto [at_a, at_b] = pair.forward(x_a, x_b, kBatch);
    (void)pair.backward(at_a.pass, at_b.pass, random_derivative(spec, random));
    std::vector<net::Message> shape;
    for (const auto& m : pair.parties.recording(Party::kA).messages()) shape.push_back(m.message);
    return shape;
  };
  EXPECT_EQ(traffic(5), traffic(20000));
}

TEST(EncryptedEmbed, NeedsPaillierAndADeclaredNumberOfSteps) {
  const auto plain = testing::make_scheme("plain");
  const EmbedMatMulSpec spec = encrypted_embed({.learning_rate = 0.1, .steps = 10}, /*all=*/true);
  EXPECT_NE(testing::message_of<ConfigError>([&] { EmbedPair pair(*plain, spec); }).find("need the scheme 'paillier'"),
            std::string::npos);
  const auto paillier = testing::make_scheme("paillier");
  EmbedMatMulSpec undeclared = spec;
  undeclared.sgd.steps = 0;
  EXPECT_NE(testing::message_of<InvalidArgument>([&] { EmbedPair pair(*paillier, undeclared); }).find("sgd.steps"),
            std::string::npos);
}

TEST(EncryptedEmbed, WhatEncryptedSumsHaveNoRoomForIsRefusedBeforeAnythingIsSent) {
  const testing::PlainScheme plain;
  const auto paillier = testing::make_scheme("paillier");
  testing::TwoParties parties({&plain, paillier.get()});
  EmbedMatMulSpec spec = small_embed();
  spec.fields_b[0].update = Update::kEncrypted;
  spec.fields_b[0].scheme = "paillier";
  spec.sgd = {.learning_rate = 0.1, .weight_decay = 0.1, .steps = 10};
  const std::string said = testing::message_of<InvalidArgument>(
      [&] { parties.run([&](Session& session) { EmbedMatMul layer(session, spec); }); });
  EXPECT_NE(said.find("weight decay"), std::string::npos);
  EXPECT_FALSE(parties.recording(Party::kA).sent().contains(steps::kAgreement));
}

TEST(EmbedMatMulSchemes, EachFieldMayHaveItsOwn) {
  const auto lattice = testing::make_scheme("lattice");
  const auto paillier = testing::make_scheme("paillier");
  EmbedMatMulSpec spec = small_embed();
  spec.fields_a[1].scheme = "paillier";
  spec.fields_b[0] = {spec.fields_b[0].field, Update::kEncrypted, "paillier"};
  spec.sgd = {.learning_rate = 0.1, .steps = 10};
  EmbedPair pair({lattice.get(), paillier.get()}, spec, testing::make_channels());
  const PlainEmbed plain(pair, spec);
  SeededRandom random(2);
  const auto x_a = random_categories(spec.fields_a, kBatch, random);
  const auto x_b = random_categories(spec.fields_b, kBatch, random);
  const auto [at_a, at_b] = pair.forward(x_a, x_b, kBatch);
  expect_near(decode_ring(open(at_a.output.share, at_b.output.share)), plain.output(side_by_side(x_a, x_b)), 1e-4, "Z");
}

TEST(EmbedMatMulLayer, RefusesABatchThatIsNotWhatItWasMadeFor) {
  const auto scheme = testing::make_scheme("plain");
  const EmbedMatMulSpec spec = small_embed();
  EmbedPair pair(*scheme, spec);
  SeededRandom random(2);
  const auto good = random_categories(spec.fields_a, kBatch, random);
  const auto refused = [&](const std::vector<IntMatrix>& x, std::size_t rows) {
    return testing::message_of<InvalidArgument>([&] { (void)pair.at(Party::kA).forward(x, rows); });
  };
  EXPECT_NE(refused({good[0]}, kBatch).find("takes 2 fields of this party, the batch has 1"), std::string::npos);
  EXPECT_NE(refused({good[1], good[0]}, kBatch).find("has a table of 5 rows, the batch's has 9"), std::string::npos);
  EXPECT_NE(refused(good, kBatch - 1).find("in a batch of"), std::string::npos);
  const IntMatrix crowded = encode_categories({.categories = 9, .most = 6}, std::vector<std::size_t>{0, 4, 4},
                                              std::vector<IntMatrix::Column>{1, 2, 3, 4});
  const IntMatrix declared = IntMatrix::csr(2, 9, {0, 4, 4}, {1, 2, 3, 4}, {1, 1, 1, 1}, 0, 3);
  EXPECT_NE(refused({good[0].select_rows(std::vector<std::uint32_t>{0, 1}), declared}, 2).find("has 4 categories"),
            std::string::npos);
  EXPECT_NE(refused({good[0].select_rows(std::vector<std::uint32_t>{0, 1}), crowded}, 2).find("encoded otherwise"),
            std::string::npos);
}

}  // namespace
}  // namespace blindfl::protocol::embed_matmul_test
