// MatMul under a shared top: what it computes, against plain arithmetic, under every scheme.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "blindfl/share/products.h"
#include "protocol/shared_fixture.h"
#include "testing/shares.h"
#include "testing/steps.h"
#include "testing/thrown.h"

namespace blindfl::protocol::shared_matmul_test {
namespace {

using ::testing::HasSubstr;
using Kind = IntMatrix::Kind;

constexpr FixedPointSpec kBinary{.scale = 0, .largest = 1, .clip = false};

class SharedMatMul : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme(GetParam());
  SeededRandom random_{5};

  [[nodiscard]] MatMulSpec spec_for(Kind kind) const {
    MatMulSpec spec = shared_spec(7, 5, 3, 16);
    if (kind == Kind::kOneHot) spec.features_a = spec.features_b = kBinary;
    return spec;
  }

  void expect_output(const std::pair<OutputShare, OutputShare>& shares, MatMulPair& pair, const SharedPass& pass) {
    const ShareMatrix z = open(shares.first.share, shares.second.share);
    const auto part = [&](Party party) { return rescale(multiply(pass.x(party), pair.weight(party)), z.scale()); };
    EXPECT_TRUE(testing::same_output(GetParam(), z, narrowed(part(Party::kA) + part(Party::kB), z.ring_bits())));
  }

  /// Both gradients of the mean loss, times the batch. Shares of dZ were rounded to its scale by both parties, and so
  /// were those of the gradient, before and after the factor of a short batch; noise is less than its precision.
  void expect_gradients(MatMulPair& pair, const SharedPass& pass) {
    const auto [at_a, at_b] = backward_shared(pair, pass);
    const MatMulParams& params = pair.a.params();
    const MatMulSpec& spec = params.spec();
    const double missing = static_cast<double>(spec.batch) / static_cast<double>(pass.derivative.at_a.real_rows);
    const PlainWeights plain(pair.a, pair.b);
    for (const Party party : {Party::kA, Party::kB}) {
      const auto& of_a = party == Party::kA ? at_a.weight_a : at_a.weight_b;
      const auto& of_b = party == Party::kA ? at_b.weight_a : at_b.weight_b;
      ASSERT_TRUE(of_a.has_value() && of_b.has_value());
      std::vector<double> wanted = plain.of(party).gradient(pass.x(party), pass.derivative.dz);
      for (double& v : wanted) v *= static_cast<double>(spec.batch);
      const double largest =
          std::ldexp(static_cast<double>(params.features(party).bound()), -params.features(party).scale());
      const double of_dz = 16 * largest * 1.5 * std::exp2(-params.derivative_scale(party));
      const double of_shares = 2.5 * std::exp2(-params.gradient_scale(party));
      const double of_noise = testing::is_exact(GetParam()) ? 0 : std::exp2(-gradient_precision(spec.batch));
      const double of_factor = 1e-5;
      EXPECT_LT(largest_difference(decode_ring(open(*of_a, *of_b)), wanted),
                missing * (of_dz + of_shares + of_noise) + of_factor);
    }
  }

  /// 20 steps with momentum, a short batch among them. Noise of a gradient of the mean loss is below 2^-18, so that the
  /// weights are off by less than 20 * 10 * 0.1 * 2^-18 = 8e-5, and Z by that times the features.
  void expect_plain_sgd(const MatMulSpec& spec, Kind kind) {
    const SgdOptions sgd{.learning_rate = 0.1, .momentum = 0.9};
    MatMulPair pair(*scheme_, spec);
    PlainWeights plain(pair.a, pair.b);
    PieceSgd at_a(sgd);
    PieceSgd at_b(sgd);
    for (int step = 0; step < 20; ++step) {
      const SharedPass pass = make_shared_pass(spec, kind, step % 5 == 4 ? 3 : spec.batch, random_);
      const auto [z_a, z_b] = pair.forward(pass.x_a, pass.x_b);
      EXPECT_LT(largest_difference(decode_ring(open(z_a.share, z_b.share)), plain.output(pass, spec.out)), 5e-3)
          << step;
      const auto [grad_a, grad_b] = backward_shared(pair, pass);
      at_a.step(pair.a, grad_a);
      at_b.step(pair.b, grad_b);
      plain.step(pass, sgd);
    }
    for (const Party party : {Party::kA, Party::kB}) {
      EXPECT_LT(largest_difference(decode_ring(pair.weight(party)), plain.of(party).values()), 2e-4);
      EXPECT_EQ(pair.a.weight(party).version, 21U);
      EXPECT_EQ(pair.b.weight(party).version, 21U);
    }
  }
};

TEST_P(SharedMatMul, SharesSumToTheOutputAndTheGradients) {
  for (const Kind kind : {Kind::kDense, Kind::kCsr, Kind::kOneHot}) {
    const MatMulSpec spec = spec_for(kind);
    MatMulPair pair(*scheme_, spec);
    const SharedPass pass = make_shared_pass(spec, kind, spec.batch, random_);
    expect_output(pair.forward(pass.x_a, pass.x_b), pair, pass);
    expect_gradients(pair, pass);
  }
}

TEST_P(SharedMatMul, AShortBatchsGradientIsThatOfItsMeanLoss) {
  const MatMulSpec spec = spec_for(Kind::kDense);
  MatMulPair pair(*scheme_, spec);
  expect_gradients(pair, make_shared_pass(spec, Kind::kDense, 3, random_));
}

TEST_P(SharedMatMul, TakesTwentyStepsAsPlainSgdWithMomentum) {
  for (const Kind kind : {Kind::kDense, Kind::kCsr, Kind::kOneHot}) expect_plain_sgd(spec_for(kind), kind);
}

TEST_P(SharedMatMul, WorksWhereOnePartyHasNoFeatures) {
  for (const auto& [in_a, in_b] : {std::pair<std::size_t, std::size_t>{0, 5}, {5, 0}}) {
    const MatMulSpec spec = shared_spec(in_a, in_b, 2, 8);
    MatMulPair pair(*scheme_, spec);
    const SharedPass pass = make_shared_pass(spec, Kind::kDense, 8, random_);
    (void)pair.forward(pass.x_a, pass.x_b);
    const auto [at_a, at_b] = backward_shared(pair, pass);
    EXPECT_EQ(at_a.weight_a.has_value(), in_a > 0);
    EXPECT_EQ(at_b.weight_a.has_value(), in_a > 0);
    EXPECT_EQ(at_a.weight_b.has_value(), in_b > 0);
    EXPECT_EQ(at_b.weight_b.has_value(), in_b > 0);
  }
}

TEST_P(SharedMatMul, WorksOverALinkThatHoldsFewBytes) {
  const MatMulSpec spec = spec_for(Kind::kDense);
  MatMulPair pair(*scheme_, spec, net::make_memory_channels(/*capacity=*/100));
  const SharedPass pass = make_shared_pass(spec, Kind::kDense, spec.batch, random_);
  expect_output(pair.forward(pass.x_a, pass.x_b), pair, pass);
  expect_gradients(pair, pass);
}

TEST_P(SharedMatMul, BothPiecesTravelAgainAfterAStep) {
  const MatMulSpec spec = spec_for(Kind::kDense);
  MatMulPair pair(*scheme_, spec);
  PieceSgd at_a({});
  PieceSgd at_b({});
  for (std::uint64_t step = 1; step <= 2; ++step) {
    const SharedPass pass = make_shared_pass(spec, Kind::kDense, spec.batch, random_);
    (void)pair.forward(pass.x_a, pass.x_b);
    (void)pair.forward(pass.x_a, pass.x_b);
    for (const Party party : {Party::kA, Party::kB}) {
      EXPECT_EQ(pair.parties.recording(party).sent().at(steps::kForwardOperand).messages, step);
    }
    const auto [grad_a, grad_b] = backward_shared(pair, pass);
    at_a.step(pair.a, grad_a);
    at_b.step(pair.b, grad_b);
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, SharedMatMul, ::testing::ValuesIn(testing::scheme_names()),
                         [](const auto& scheme) { return scheme.param; });

class SharedDerivatives : public ::testing::Test {
 protected:
  testing::PlainScheme scheme_;
  SeededRandom random_{2};
  MatMulSpec spec_ = shared_spec(4, 3, 2, 8);
};

TEST_F(SharedDerivatives, ComeAtAnyScaleInARingThatIsWideEnough) {
  MatMulPair pair(scheme_, spec_);
  const MatMulParams& params = pair.a.params();
  const int ring = std::max(params.derivative_ring(Party::kA), params.derivative_ring(Party::kB));
  ASSERT_EQ(params.derivative_scale(Party::kA), params.derivative_scale(Party::kB));
  const int scale = params.derivative_scale(Party::kA);
  SharedPass pass = make_shared_pass(spec_, Kind::kDense, 8, random_);
  const PlainWeights plain(pair.a, pair.b);
  for (const auto& [at, modulo] : {std::pair(scale, ring), {scale + 2, ring + 2}, {scale - 3, ring - 3}, {40, 128}}) {
    pass.derivative = share_derivative(spec_, pass.derivative.dz, at, modulo);
    const auto [at_a, at_b] = backward_shared(pair, pass);
    std::vector<double> wanted = plain.of(Party::kB).gradient(pass.x_b, pass.derivative.dz);
    for (double& v : wanted) v *= 8;
    EXPECT_LT(largest_difference(decode_ring(open(*at_a.weight_b, *at_b.weight_b)), wanted),
              8 * 16 * 1.5 * std::exp2(-std::min(at, scale)) + 1e-5);
  }
}

TEST_F(SharedDerivatives, AreRefusedInARingThatIsTooNarrowBeforeAnythingIsSent) {
  MatMulPair pair(scheme_, spec_);
  const MatMulParams& params = pair.a.params();
  SharedPass pass = make_shared_pass(spec_, Kind::kDense, 8, random_);
  const int ring = std::max(params.derivative_ring(Party::kA), params.derivative_ring(Party::kB));
  pass.derivative = share_derivative(spec_, pass.derivative.dz, params.derivative_scale() + 1, ring);
  const auto sent = pair.parties.recording(Party::kA).messages().size();
  EXPECT_THAT(testing::message_of<InvalidArgument>([&] { (void)pair.a.backward(pass.x_a, pass.derivative.at_a); }),
              HasSubstr("lift them first"));
  EXPECT_EQ(pair.parties.recording(Party::kA).messages().size(), sent);
}

TEST_F(SharedDerivatives, AreOfTheLayersTopOrRefused) {
  const auto refusal = [](MatMul& half, const IntMatrix& x, const Derivative& derivative) {
    return testing::message_of<InvalidArgument>([&] { (void)half.backward(x, derivative); });
  };
  MatMulPair pair(scheme_, spec_);
  const SharedPass pass = make_shared_pass(spec_, Kind::kDense, 8, random_);
  EXPECT_THAT(refusal(pair.b, pass.x_b, random_derivative(spec_, random_)), HasSubstr("under a shared top"));
  EXPECT_THAT(refusal(pair.a, pass.x_a, absent_derivative(8, 8)), HasSubstr("no share of the derivative"));
  EXPECT_THAT(refusal(pair.a, pass.x_a, shared_derivative(8, ShareMatrix(8, 3, 28))), HasSubstr("2 outputs"));
  EXPECT_THAT(refusal(pair.a, pass.x_a, shared_derivative(7, ShareMatrix(7, 2, 28))), HasSubstr("does not fit"));
  MatMulSpec open_spec = spec_;
  open_spec.top = Top::kOpen;
  MatMulPair open_pair(scheme_, open_spec);
  EXPECT_THAT(refusal(open_pair.a, pass.x_a, pass.derivative.at_a), HasSubstr("under an open top only"));
  EXPECT_THAT(refusal(open_pair.b, pass.x_b, pass.derivative.at_b), HasSubstr("under an open top only"));
}

TEST_F(SharedDerivatives, LeaveNoProductsToKeep) {
  MatMulPair pair(scheme_, spec_);
  EXPECT_THAT(testing::message_of<InvalidArgument>([&] { pair.a.keep_products(8, nullptr); }),
              HasSubstr("changes at every step"));
}

TEST_F(SharedDerivatives, AreAgreedOnByBothParties) {
  testing::TwoParties parties(scheme_);
  MatMulSpec open_spec = spec_;
  open_spec.top = Top::kOpen;
  const SharedPass pass = make_shared_pass(spec_, Kind::kDense, 8, random_);
  EXPECT_THAT(testing::message_of<ConfigError>([&] {
                parties.run([&](Session& s) { (void)MatMul(s, spec_).forward(pass.x_a); },
                            [&](Session& s) { (void)MatMul(s, open_spec).forward(pass.x_b); });
              }),
              HasSubstr("top is"));
}

TEST(SharedParams, HaveRingsForTheLargestDerivativeAtBothParties) {
  MatMulSpec spec = shared_spec(30, 20, 4, 128);
  spec.derivative.largest = 4;
  for (const int scale : {0, 16}) {
    spec.features_b.scale = scale;
    const MatMulParams params(spec);
    EXPECT_EQ(params.products(), 4U);
    EXPECT_FALSE(params.scaled());
    for (const Party party : {Party::kA, Party::kB}) {
      const he::ProductSpec backward = params.backward(party, 128);
      EXPECT_EQ(backward.rows, params.in(party));
      EXPECT_EQ(backward.right_bits, 128);
      EXPECT_EQ(backward.ring_bits, params.derivative_ring(party));
      // All rows have the largest feature and the largest derivative, and two bits of the ring stay free.
      const double largest =
          128 * static_cast<double>(params.features(party).bound()) * std::ldexp(4.0, params.derivative_scale(party));
      EXPECT_LT(largest + std::ldexp(1.0, backward.noise_bits), std::ldexp(1.0, backward.ring_bits - 2));
      EXPECT_GT(largest, std::ldexp(1.0, backward.ring_bits - 5)) << "no wider than it must be";
      EXPECT_EQ(backward.lifted_bits, 0) << "nothing is left to chance";
      // Lifted shares fill the ring of 2^128: momentum, and the factor of a batch of one row, are rounded there.
      EXPECT_GT(params.failure_of_factors(party), 0);
      EXPECT_LT(params.failure_of_factors(party), 0x1p-50);
    }
  }
}

// As large as a gradient can be, of either sign: what a lift has room for.
TEST(SharedLifts, AreExactForTheLargestGradients) {
  const auto scheme = testing::make_scheme("lattice");
  MatMulSpec spec = shared_spec(3, 2, 2, 32);
  spec.derivative.largest = 4;
  MatMulPair pair(*scheme, spec);
  const auto largest = [&](Party party, std::size_t cols) {
    const FixedPoint& features = pair.a.params().features(party);
    std::vector<std::int64_t> values(32 * cols, static_cast<std::int64_t>(features.bound()));
    return IntMatrix::dense(32, cols, std::move(values), features.scale(), features.bound());
  };
  std::vector<double> dz;
  for (int row = 0; row < 32; ++row) dz.insert(dz.end(), {4.0, -4.0});
  const SharedPass pass{largest(Party::kA, 3), largest(Party::kB, 2), share_derivative(spec, dz)};
  const auto [at_a, at_b] = backward_shared(pair, pass);
  const double sum = 32 * 4.0;
  for (const auto& [a, b, of] :
       {std::tuple(&at_a.weight_a, &at_b.weight_a, Party::kA), std::tuple(&at_a.weight_b, &at_b.weight_b, Party::kB)}) {
    const FixedPoint& features = pair.a.params().features(of);
    const double expected = sum * std::ldexp(static_cast<double>(features.bound()), -features.scale());
    const std::vector<double> gradient = decode_ring(open(**a, **b));
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      EXPECT_NEAR(gradient[i], i % 2 == 0 ? expected : -expected, 0x1p-12) << i;
    }
  }
}

TEST(SharedParams, NeverScaleTheDerivativeFirst) {
  MatMulSpec spec = shared_spec(3, 2, 1, 8);
  spec.sgd = {.learning_rate = 0.1, .steps = 100};
  EXPECT_FALSE(MatMulParams(spec).scaled());
  spec.top = Top::kOpen;
  EXPECT_TRUE(MatMulParams(spec).scaled());
}

TEST(SharedParams, HaveAsMuchRoomForLiftsOfZAsIsAskedFor) {
  MatMulSpec spec = shared_spec(3, 2, 1, 8);
  const MatMulParams narrow(spec);
  spec.output_room = 40;
  const MatMulParams wide(spec);
  EXPECT_EQ(wide.output_ring(), narrow.output_ring() + 40);
  EXPECT_EQ(wide.output_bits(), narrow.output_bits());
  EXPECT_EQ(wide.forward(Party::kB, 8).ring_bits, narrow.forward(Party::kB, 8).ring_bits + 40);
  spec.output_room = 60;
  EXPECT_THROW(MatMulParams{spec}, InvalidArgument);
  spec.output_room = 1;
  spec.top = Top::kOpen;
  EXPECT_THROW(MatMulParams{spec}, InvalidArgument);
  spec.output_room = 0;
  spec.update_b = Update::kEncrypted;
  EXPECT_THROW(MatMulParams{spec}, InvalidArgument);
}

TEST(SharedParams, AllowFinerOutputsThanAreEverOpened) {
  MatMulSpec spec = shared_spec(3, 2, 1, 8);
  spec.output_scale = 24;
  EXPECT_EQ(MatMulParams(spec).forward(Party::kA, 8).noise_bits, 48 - 24 - 1);
  spec.top = Top::kOpen;
  EXPECT_THROW(MatMulParams{spec}, InvalidArgument);
}

}  // namespace
}  // namespace blindfl::protocol::shared_matmul_test
