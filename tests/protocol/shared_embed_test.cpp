// Embed-MatMul under a shared top: what it computes, against plain arithmetic, under every scheme.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "protocol/shared_embed_fixture.h"
#include "testing/label.h"
#include "testing/shares.h"
#include "testing/steps.h"
#include "testing/thrown.h"

namespace blindfl::protocol::shared_embed_test {
namespace {

using ::testing::HasSubstr;

class SharedEmbed : public ::testing::TestWithParam<std::string> {
 protected:
  /// Forward and backward once, compared with the same on doubles. Noise is below 2^-gradient_precision of the summed
  /// loss, on dE less, and grows with the factor of a short batch.
  void expect_a_pass_like_plain(EmbedPair& pair, const EmbedMatMulSpec& spec, std::size_t real_rows) {
    const PlainEmbed plain(pair, spec);
    const SharedEmbedPass pass = make_shared_embed_pass(spec, real_rows, random_);
    const auto [at_a, at_b] = forward_shared(pair, pass);
    EXPECT_LT(largest_difference(decode_ring(open(at_a.output.share, at_b.output.share)), plain.output(pass.all())),
              1e-4);
    const auto [grad_a, grad_b] = backward_shared(pair, at_a.pass, at_b.pass, pass.derivative);
    const PlainEmbed::Gradients expected = plain.gradients(pass.all(), pass.whole);
    const double missing = static_cast<double>(spec.batch) / static_cast<double>(real_rows);
    const double noise = testing::is_exact(GetParam()) ? 0 : 2 * std::exp2(-gradient_precision(spec.batch));
    const auto expect = [&](const ShareMatrix& a, const ShareMatrix& b, std::vector<double> wanted, const char* what) {
      for (double& v : wanted) v *= missing;
      EXPECT_LT(largest_difference(decode_ring(open(a, b)), wanted), missing * (1e-4 + noise)) << what;
    };
    expect(grad_a.weight, grad_b.weight, expected.weight, "dW");
    ASSERT_EQ(grad_a.tables.size(), pass.all().size());
    for (std::size_t t = 0; t < grad_a.tables.size(); ++t) {
      expect(grad_a.tables[t].value(), grad_b.tables[t].value(), expected.tables[t], "dQ");
    }
  }

  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme(GetParam());
  SeededRandom random_{5};
};

TEST_P(SharedEmbed, OutputsAndGradientsAreThoseOfTheLayerInTheClear) {
  const EmbedMatMulSpec spec = shared_embed_spec();
  EmbedPair pair(*scheme_, spec);
  expect_a_pass_like_plain(pair, spec, spec.batch);
}

TEST_P(SharedEmbed, AShortBatchsGradientIsThatOfItsMeanLoss) {
  const EmbedMatMulSpec spec = shared_embed_spec();
  EmbedPair pair(*scheme_, spec);
  expect_a_pass_like_plain(pair, spec, 3);
}

TEST_P(SharedEmbed, WorksWhereOnePartyHasNoFields) {
  for (const bool a_has : {true, false}) {
    EmbedMatMulSpec spec = shared_embed_spec();
    (a_has ? spec.fields_b : spec.fields_a).clear();
    EmbedPair pair(*scheme_, spec);
    expect_a_pass_like_plain(pair, spec, spec.batch);
  }
}

TEST_P(SharedEmbed, WorksOverALinkThatHoldsFewBytes) {
  const EmbedMatMulSpec spec = shared_embed_spec();
  EmbedPair pair(*scheme_, spec, net::make_memory_channels(/*capacity=*/100));
  expect_a_pass_like_plain(pair, spec, spec.batch);
}

TEST_P(SharedEmbed, TakesTwentyStepsAsPlainSgdWithMomentum) {
  const EmbedMatMulSpec spec = shared_embed_spec();
  EmbedPair pair(*scheme_, spec);
  SharedEmbedTraining training(pair, spec, {.learning_rate = 0.1, .momentum = 0.9});
  const std::vector<double> before = training.plain().table(2);
  const int steps = GetParam() == "paillier" && !testing::kFull ? 5 : 20;
  for (int step = 0; step < steps; ++step) {
    EXPECT_LT(training.step(make_shared_embed_pass(spec, step % 5 == 4 ? 3 : spec.batch, random_)), 2e-3) << step;
  }
  EXPECT_LT(training.difference(), 5e-4);
  EXPECT_GT(largest_difference(before, training.plain().table(2)), 1e-2) << "nothing was learned";
}

TEST_P(SharedEmbed, WeightsTravelAgainAfterAStepAndNotBefore) {
  const EmbedMatMulSpec spec = shared_embed_spec();
  EmbedPair pair(*scheme_, spec);
  for (std::uint64_t step = 1; step <= 2; ++step) {
    const SharedEmbedPass pass = make_shared_embed_pass(spec, spec.batch, random_);
    const auto [at_a, at_b] = forward_shared(pair, pass);
    std::pair<EmbedGradients, EmbedGradients> gradients;
    for (int i = 0; i < 2; ++i) gradients = backward_shared(pair, at_a.pass, at_b.pass, pass.derivative);
    for (const Party party : {Party::kA, Party::kB}) {
      const auto sent = pair.parties.recording(party).sent();
      EXPECT_EQ(sent.at(steps::kBackwardOperand).messages, step);
      EXPECT_EQ(sent.at(steps::kSharedDerivative).messages, 2 * step) << "dZ is another in every pass";
      EXPECT_EQ(sent.at(steps::kSharedGradient).messages, 2 * step);
      EXPECT_EQ(sent.at(steps::kEmbeddingDerivative).messages, 2 * step);
      EXPECT_FALSE(sent.contains(steps::kEmbeddingOperand));
      EXPECT_FALSE(sent.contains(steps::kWeightGradient));
      EXPECT_FALSE(sent.contains(steps::kOutputShare)) << "Z is never opened";
    }
    take_step(pair.at(Party::kA), gradients.first, 0.1 / 8);
    take_step(pair.at(Party::kB), gradients.second, 0.1 / 8);
  }
}

// As many steps as before the load, and other weights: what the peer has of the old ones is no longer good.
TEST_P(SharedEmbed, LoadedWeightsTravelAgainAlthoughTheirVersionIsThatOfOthers) {
  const EmbedMatMulSpec spec = shared_embed_spec();
  EmbedPair pair(*scheme_, spec);
  const auto states = [&] {
    std::vector<Bytes> saved;
    for (const Party party : {Party::kA, Party::kB}) {
      saved.push_back(write_to_bytes([&](ByteSink& out) { pair.at(party).save(out); }));
    }
    return saved;
  };
  const auto load = [&](const std::vector<Bytes>& saved) {
    for (const Party party : {Party::kA, Party::kB}) {
      BufferSource in(saved[party == Party::kA ? 0 : 1]);
      pair.at(party).load(in);
    }
  };
  const auto take_a_step = [&](double rate) {
    const SharedEmbedPass pass = make_shared_embed_pass(spec, spec.batch, random_);
    const auto [at_a, at_b] = forward_shared(pair, pass);
    const auto gradients = backward_shared(pair, at_a.pass, at_b.pass, pass.derivative);
    take_step(pair.at(Party::kA), gradients.first, rate);
    take_step(pair.at(Party::kB), gradients.second, rate);
  };
  const std::vector<Bytes> start = states();
  take_a_step(0.1);
  expect_a_pass_like_plain(pair, spec, spec.batch);
  load(start);
  expect_a_pass_like_plain(pair, spec, spec.batch);
  take_a_step(-0.2);
  expect_a_pass_like_plain(pair, spec, spec.batch);
}

INSTANTIATE_TEST_SUITE_P(Schemes, SharedEmbed, ::testing::ValuesIn(testing::scheme_names()),
                         [](const auto& scheme) { return scheme.param; });

struct Encrypted {
  std::string name;
  bool of_a;
  bool of_b;
  double momentum = 0;
};

void PrintTo(const Encrypted& c, std::ostream* out) {
  *out << c.name;
}

/// Tables that are updated under encryption, of either party or both; dE is shared, as under an open top.
class SharedEncryptedTables : public ::testing::TestWithParam<Encrypted> {
 protected:
  [[nodiscard]] static EmbedMatMulSpec make_spec() {
    EmbedMatMulSpec spec = shared_embed_spec();
    if (GetParam().of_a) spec.fields_a[1].update = Update::kEncrypted;
    if (GetParam().of_b) spec.fields_b[0].update = Update::kEncrypted;
    spec.sgd = {.learning_rate = 0.1, .momentum = GetParam().momentum, .steps = 20};
    spec.derivative.largest = 2.0;
    return spec;
  }
};

TEST_P(SharedEncryptedTables, LearnAsPlainSgdDoes) {
  const auto scheme = testing::make_scheme("paillier");
  const EmbedMatMulSpec spec = make_spec();
  EmbedPair pair(*scheme, spec);
  SharedEmbedTraining training(pair, spec, spec.sgd);
  SeededRandom random(3);
  for (int step = 0; step < (testing::kFull ? 20 : 4); ++step) {
    EXPECT_LT(training.step(make_shared_embed_pass(spec, step % 3 == 2 ? 3 : spec.batch, random)), 1e-3) << step;
  }
  EXPECT_LT(training.difference(), 5e-4);
  for (const Party party : {Party::kA, Party::kB}) {
    const auto sent = pair.parties.recording(party).sent();
    // The party with the field holds [[T]] and updates it: T does not travel, and no gradient does.
    const bool peer_has_all = party == Party::kA && GetParam().of_b;
    EXPECT_EQ(sent.contains(steps::kTableOperand), !peer_has_all);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, SharedEncryptedTables,
                         ::testing::Values(Encrypted{"of_a", true, false}, Encrypted{"of_b", false, true, 0.9},
                                           Encrypted{"of_both", true, true, 0.5}),
                         [](const auto& c) { return c.param.name; });

class SharedEmbedDerivatives : public ::testing::Test {
 protected:
  [[nodiscard]] static std::string refusal(EmbedMatMul& layer, const EmbedPass& pass, const Derivative& derivative) {
    return testing::message_of<InvalidArgument>([&] { (void)layer.backward(pass, derivative); });
  }

  testing::PlainScheme scheme_;
  SeededRandom random_{2};
  EmbedMatMulSpec spec_ = shared_embed_spec();
  EmbedPair pair_{scheme_, spec_};
  SharedEmbedPass pass_ = make_shared_embed_pass(spec_, spec_.batch, random_);
  std::pair<EmbedMatMul::Forward, EmbedMatMul::Forward> forward_ = forward_shared(pair_, pass_);
};

TEST_F(SharedEmbedDerivatives, ComeAtAnyScaleInARingThatIsWideEnough) {
  const EmbedMatMulParams& params = pair_.at(Party::kA).params();
  const int scale = params.derivative_scale();
  const int ring = params.derivative_ring();
  ASSERT_LE(ring, 126);
  const PlainEmbed::Gradients wanted = PlainEmbed(pair_, spec_).gradients(pass_.all(), pass_.whole);
  for (const auto& [at, modulo] : {std::pair(scale, ring), {scale + 2, ring + 2}, {scale - 3, ring - 3}, {40, 128}}) {
    const SharedDerivative shares = share_derivative(spec_, pass_.derivative.dz, at, modulo);
    const auto [at_a, at_b] = backward_shared(pair_, forward_.first.pass, forward_.second.pass, shares);
    const double tolerance = 8 * 4 * 1.5 * std::exp2(-std::min(at, scale)) + 1e-5;
    EXPECT_LT(largest_difference(decode_ring(open(at_a.weight, at_b.weight)), wanted.weight), tolerance);
    EXPECT_LT(largest_difference(decode_ring(open(*at_a.tables[0], *at_b.tables[0])), wanted.tables[0]), tolerance);
  }
}

TEST_F(SharedEmbedDerivatives, OfAnyLengthOfSharesAddUpAsNumbers) {
  // The two shares of dZ as far apart as the ring of the product that has them on its left lets them be, or further.
  const EmbedMatMulParams& params = pair_.at(Party::kA).params();
  const int scale = params.derivative_scale();
  const ShareMatrix whole = encode_ring(spec_.batch, spec_.out, pass_.derivative.dz, scale, 1.0);
  const UInt128 far = static_cast<UInt128>(1) << (params.embedding_derivative_ring() - 1);
  ShareMatrix a(spec_.batch, spec_.out, scale);
  for (std::size_t i = 0; i < a.values().size(); ++i) a.values()[i] = i % 2 == 0 ? far : -far;
  SharedDerivative shares = pass_.derivative;
  shares.at_b = shared_derivative(spec_.batch, whole - a);
  shares.at_a = shared_derivative(spec_.batch, std::move(a));
  const auto [at_a, at_b] = backward_shared(pair_, forward_.first.pass, forward_.second.pass, shares);
  const PlainEmbed::Gradients wanted = PlainEmbed(pair_, spec_).gradients(pass_.all(), pass_.whole);
  for (std::size_t t = 0; t < wanted.tables.size(); ++t) {
    EXPECT_LT(largest_difference(decode_ring(open(*at_a.tables[t], *at_b.tables[t])), wanted.tables[t]), 1e-4);
  }
}

TEST_F(SharedEmbedDerivatives, AreRefusedInARingThatIsTooNarrowBeforeAnythingIsSent) {
  const EmbedMatMulParams& params = pair_.at(Party::kA).params();
  const SharedDerivative shares =
      share_derivative(spec_, pass_.derivative.dz, params.derivative_scale() + 1, params.derivative_ring());
  const auto sent = pair_.parties.recording(Party::kA).messages().size();
  EXPECT_THAT(refusal(pair_.at(Party::kA), forward_.first.pass, shares.at_a), HasSubstr("lift them first"));
  EXPECT_EQ(pair_.parties.recording(Party::kA).messages().size(), sent);
}

TEST_F(SharedEmbedDerivatives, AreOfTheLayersTopAndShapeOrRefused) {
  EmbedMatMul& a = pair_.at(Party::kA);
  EmbedMatMul& b = pair_.at(Party::kB);
  const auto sent = pair_.parties.recording(Party::kA).messages().size();
  EXPECT_THAT(refusal(b, forward_.second.pass, pass_.whole), HasSubstr("under a shared top"));
  EXPECT_THAT(refusal(a, forward_.first.pass, absent_derivative(8, 8)), HasSubstr("no share of the derivative"));
  EXPECT_THAT(refusal(a, forward_.first.pass, shared_derivative(8, ShareMatrix(8, 3, 28))), HasSubstr("2 outputs"));
  EXPECT_THAT(refusal(a, forward_.first.pass, shared_derivative(7, ShareMatrix(7, 2, 28))), HasSubstr("does not fit"));
  EXPECT_THAT(refusal(a, forward_.first.pass, shared_derivative(9, ShareMatrix(8, 2, 28))), HasSubstr("does not fit"));
  Derivative short_of_rows = shared_derivative(7, ShareMatrix(7, 2, 28));
  short_of_rows.rows = 8;
  EXPECT_THAT(refusal(a, forward_.first.pass, short_of_rows), HasSubstr("another number of rows"));
  EXPECT_EQ(pair_.parties.recording(Party::kA).messages().size(), sent);
  EmbedMatMulSpec open_spec = spec_;
  open_spec.top = Top::kOpen;
  EmbedPair open_pair(scheme_, open_spec);
  EXPECT_THAT(refusal(open_pair.at(Party::kA), forward_.first.pass, pass_.derivative.at_a),
              HasSubstr("under an open top only"));
  EXPECT_THAT(refusal(open_pair.at(Party::kB), forward_.second.pass, pass_.derivative.at_b),
              HasSubstr("under an open top only"));
}

TEST_F(SharedEmbedDerivatives, AreAgreedOnByBothParties) {
  testing::TwoParties parties(scheme_);
  EmbedMatMulSpec open_spec = spec_;
  open_spec.top = Top::kOpen;
  EXPECT_THAT(testing::message_of<ConfigError>([&] {
                parties.run([&](Session& s) { (void)EmbedMatMul(s, spec_).forward(pass_.x_a, 8); },
                            [&](Session& s) { (void)EmbedMatMul(s, open_spec).forward(pass_.x_b, 8); });
              }),
              HasSubstr("top is"));
}

TEST(SharedEmbedParams, HaveRingsForEveryLiftOfTheRun) {
  for (const std::uint64_t passes : {std::uint64_t{1}, std::uint64_t{2000}, std::uint64_t{1} << 18}) {
    for (const double largest : {1.0, 256.0}) {
      EmbedMatMulSpec spec = shared_embed_spec();
      spec.batch = 128;
      spec.out = 16;
      spec.run.passes = passes;
      spec.derivative.largest = largest;
      const EmbedMatMulParams params(spec);
      const auto runs = static_cast<double>(passes);
      double failure = runs * 128 * static_cast<double>(params.inputs()) * params.failure_of_derivative_lift();
      EXPECT_GT(failure, 0);
      const auto add = [&](const he::ProductSpec& product, double times) {
        EXPECT_LE(product.ring_bits, params.derivative_ring());
        EXPECT_EQ(product.right_bits, 128) << "shares fill the ring";
        failure += times * runs * static_cast<double>(product.rows * product.cols) * product.lift_failure();
      };
      const Limbs limbs = Limbs::of(62, 2);
      add(params.shared_weight_gradient(limbs, 128), 2);
      const int left = params.embedding_derivative_ring() - 1;
      add(params.shared_embedding_derivative(Limbs::of(left, 2), 128), 2);
      // All that gradients and dE can be, with two bits to spare.
      const double embedding = std::ldexp(spec.largest_embedding, params.embedding_scale());
      const double derivative = std::ldexp(largest, params.derivative_scale());
      EXPECT_LT(128 * embedding * derivative, std::ldexp(1.0, params.weight_lift().ring_bits - 2));
      const double weight = std::ldexp(spec.largest_weight, params.backward_weight_scale());
      if (params.embedding_derivative_ring() < params.derivative_lift().ring_bits) {
        EXPECT_LT(16 * weight * derivative, std::ldexp(1.0, params.embedding_derivative_ring() - 2));
      }
      for (const Party party : {Party::kA, Party::kB}) {
        for (const EmbedField& f : params.fields(party)) {
          const he::ProductSpec table = params.table_gradient(f, 128);
          failure += runs * static_cast<double>(table.rows * table.cols) * table.lift_failure();
          EXPECT_LE(params.failure_of_table(f), 0x1p-40);
        }
      }
      EXPECT_LE(failure, 0x1p-40);
      EXPECT_LE(params.failure_of_weights(), 0x1p-40);
    }
  }
}

std::string shape(const he::ProductSpec& p) {
  return std::to_string(p.rows) + " x " + std::to_string(p.inner) + " x " + std::to_string(p.cols);
}

TEST(SharedEmbedParams, MakeTheSpecsOfBothProducts) {
  const EmbedMatMulSpec spec = shared_embed_spec();
  const EmbedMatMulParams params(spec);
  const Limbs limbs = Limbs::of(62, 2);
  const he::ProductSpec gradient = params.shared_weight_gradient(limbs, 5);
  EXPECT_EQ(shape(gradient), "9 x 10 x 2");
  EXPECT_EQ(gradient.left_bound, limbs.bound());
  EXPECT_EQ(gradient.result_scale(), params.weight_lift().scale);
  const he::ProductSpec derivative = params.shared_embedding_derivative(limbs, 5);
  EXPECT_EQ(shape(derivative), "5 x 4 x 9");
  EXPECT_EQ(derivative.result_scale(), params.derivative_lift().scale);
  for (const std::size_t rows : {std::size_t{0}, spec.batch + 1}) {
    EXPECT_THROW((void)params.shared_weight_gradient(limbs, rows), InvalidArgument);
    EXPECT_THROW((void)params.shared_embedding_derivative(limbs, rows), InvalidArgument);
  }
  EmbedMatMulSpec open_spec = spec;
  open_spec.top = Top::kOpen;
  const EmbedMatMulParams open_params(open_spec);
  EXPECT_EQ(open_params.failure_of_derivative_lift(), open_params.embedding_derivative(5).lift_failure());
  EXPECT_EQ(params.embedding(limbs, 5).run_values, open_params.embedding(limbs, 5).run_values / 10 * 12)
      << "two products more share what the run may give away";
}

TEST(SharedEmbedParams, CutWhatIsOnTheLeftIntoAsFewLimbsAsASchemeTakes) {
  const EmbedMatMulParams params(shared_embed_spec());
  const testing::PlainScheme plain;
  EXPECT_EQ(params.choose_gradient_limbs(plain).count, 1U) << "pieces have 62 bits";
  EXPECT_EQ(params.choose_derivative_limbs(plain).count, 1U) << "nor are shares of dZ longer";
  const he::LatticeScheme lattice;
  for (const Limbs& limbs : {params.choose_gradient_limbs(lattice), params.choose_derivative_limbs(lattice)}) {
    EXPECT_GE(limbs.count, 1U);
    EXPECT_LE(limbs.count, 4U);
  }
}

TEST(SharedEmbedParams, HaveAsMuchRoomForLiftsOfZAsIsAskedFor) {
  EmbedMatMulSpec spec = shared_embed_spec();
  const EmbedMatMulParams narrow(spec);
  spec.output_room = 40;
  const EmbedMatMulParams wide(spec);
  EXPECT_EQ(wide.output_ring(), narrow.output_ring() + 40);
  EXPECT_EQ(wide.output_bits(), narrow.output_bits());
  EXPECT_EQ(wide.embedding(Limbs::of(62, 2), 8).ring_bits, narrow.output_ring() + 40);
  spec.output_room = 60;
  EXPECT_THROW(EmbedMatMulParams{spec}, InvalidArgument);
  spec.output_room = 1;
  spec.top = Top::kOpen;
  EXPECT_THROW(EmbedMatMulParams{spec}, InvalidArgument);
}

TEST(SharedEmbedParams, AllowFinerOutputsThanAreEverOpened) {
  EmbedMatMulSpec spec = shared_embed_spec();
  spec.output_scale = 24;
  EXPECT_EQ(EmbedMatMulParams(spec).embedding(Limbs::of(62, 2), 8).noise_bits, 52 - 24 - 1);
  spec.top = Top::kOpen;
  EXPECT_THROW(EmbedMatMulParams{spec}, InvalidArgument);
}

TEST(SharedEmbedParams, RefuseARunThatLiftsCannotServe) {
  EmbedMatMulSpec spec = shared_embed_spec();
  spec.derivative.largest = 0x1p25;
  spec.run.passes = std::uint64_t{1} << 32;
  EXPECT_THAT(testing::message_of<InvalidArgument>([&] { EmbedMatMulParams{spec}; }), HasSubstr("could overflow"));
}

}  // namespace
}  // namespace blindfl::protocol::shared_embed_test
