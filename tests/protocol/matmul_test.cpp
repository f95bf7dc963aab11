#include "blindfl/protocol/layers/matmul.h"

#include <gtest/gtest.h>

#include <cmath>

#include "blindfl/base/error.h"
#include "blindfl/share/products.h"
#include "protocol/matmul_fixture.h"
#include "testing/shares.h"
#include "testing/steps.h"

namespace blindfl::protocol::matmul_test {
namespace {

using Kind = IntMatrix::Kind;

/// What Z is modulo the ring of its shares.
ShareMatrix in_ring_of(const OutputShare& output, const ShareMatrix& z) {
  return narrowed(z, output.share.ring_bits());
}

class MatMulLayer : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme(GetParam());
  SeededRandom random_{5};
};

TEST_P(MatMulLayer, ForwardSharesSumToTheOutput) {
  for (const Kind kind : {Kind::kDense, Kind::kCsr}) {
    const MatMulSpec spec = small_spec(7, 5, 3, 16);
    MatMulPair pair(*scheme_, spec);
    const IntMatrix x_a = random_features(spec.features_a, kind, 16, 7, random_);
    const IntMatrix x_b = random_features(spec.features_b, kind, 16, 5, random_);
    const auto [at_a, at_b] = pair.forward(x_a, x_b);
    EXPECT_TRUE(testing::same_output(
        GetParam(), open(at_a.share, at_b.share),
        in_ring_of(at_a, multiply(x_a, pair.weight(Party::kA)) + multiply(x_b, pair.weight(Party::kB)))));
    EXPECT_EQ(at_a.share.ring_bits(), 48 + 15 + 5);
    EXPECT_EQ(at_a.bits, at_b.bits);
  }
}

TEST_P(MatMulLayer, ForwardBringsBinaryAndRealFeaturesToOneScale) {
  MatMulSpec spec = small_spec(6, 4, 2, 8);
  spec.features_a = {.scale = 0, .largest = 1, .clip = false};
  MatMulPair pair(*scheme_, spec);
  const IntMatrix x_a = random_features(spec.features_a, Kind::kCsr, 8, 6, random_);
  const IntMatrix x_b = random_features(spec.features_b, Kind::kDense, 8, 4, random_);
  const auto [at_a, at_b] = pair.forward(x_a, x_b);
  EXPECT_TRUE(testing::same_output(
      GetParam(), open(at_a.share, at_b.share),
      in_ring_of(at_a, rescale(multiply(x_a, pair.weight(Party::kA)), 48) + multiply(x_b, pair.weight(Party::kB)))));
}

TEST_P(MatMulLayer, BackwardSharesSumToTheGradients) {
  const MatMulSpec spec = small_spec(7, 5, 3, 16);
  MatMulPair pair(*scheme_, spec);
  const IntMatrix x_a = random_features(spec.features_a, Kind::kCsr, 16, 7, random_);
  const IntMatrix x_b = random_features(spec.features_b, Kind::kDense, 16, 5, random_);
  const Derivative dz = random_derivative(spec, random_);
  const auto [at_a, at_b] = pair.backward(x_a, x_b, dz);

  const auto expect_near = [](const ShareMatrix& gradient, const ShareMatrix& exact, double tolerance) {
    const auto got = decode_ring(gradient);
    const auto want = decode_ring(exact);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance);
  };
  const ShareMatrix ring = to_ring(*dz.share);
  // A's from dZ rounded to the scale that it is encrypted at, 16 rows of at most 16, and then from rounded shares.
  const MatMulParams& params = pair.a.params();
  const double of_dz = 16 * 16 * 0.5 * std::exp2(-params.derivative_scale());
  const double of_shares = 1.5 * std::exp2(-params.gradient_scale(Party::kA));
  expect_near(open(*at_a.weight_a, *at_b.weight_a), multiply_transposed(x_a, ring),
              of_dz + of_shares + (testing::is_exact(GetParam()) ? 0 : std::exp2(-gradient_precision(spec.batch))));
  expect_near(*at_b.weight_b, multiply_transposed(x_b, ring), 1.5 * 0x1p-32);
  EXPECT_FALSE(at_a.weight_b.has_value());
}

TEST_P(MatMulLayer, WorksOverALinkThatHoldsFewBytes) {
  const MatMulSpec spec = small_spec(7, 5, 3, 16);
  MatMulPair pair(*scheme_, spec, net::make_memory_channels(/*capacity=*/100));
  for (int step = 0; step < 3; ++step) {
    const IntMatrix x_a = random_features(spec.features_a, Kind::kDense, 16, 7, random_);
    const IntMatrix x_b = random_features(spec.features_b, Kind::kDense, 16, 5, random_);
    const auto [at_a, at_b] = pair.forward(x_a, x_b);
    EXPECT_TRUE(testing::same_output(
        GetParam(), open(at_a.share, at_b.share),
        in_ring_of(at_a, multiply(x_a, pair.weight(Party::kA)) + multiply(x_b, pair.weight(Party::kB)))));
    const auto [grad_a, grad_b] = pair.backward(x_a, x_b, random_derivative(spec, random_));
    for (const auto& [half, gradient] : {std::pair(&pair.a, &grad_a), std::pair(&pair.b, &grad_b)}) {
      half->weight(Party::kA).piece -= rescale(*gradient->weight_a, spec.weight_scale);
      ++half->weight(Party::kA).version;
    }
  }
}

TEST_P(MatMulLayer, AShortBatchsGradientIsThatOfItsMeanLoss) {
  const MatMulSpec spec = small_spec(3, 2, 2, 8);
  MatMulPair pair(*scheme_, spec);
  const std::vector<std::uint32_t> three{0, 1, 2};
  const IntMatrix x_a = random_features(spec.features_a, Kind::kDense, 8, 3, random_).select_rows(three, 8);
  const IntMatrix x_b = random_features(spec.features_b, Kind::kDense, 8, 2, random_).select_rows(three, 8);
  const std::vector<double> dz{1, -1, 0.5, 0.25, -0.125, 1};
  const Derivative derivative = encode_derivative(FixedPoint(spec.derivative), 8, 2, dz);
  const auto [at_a, at_b] = pair.backward(x_a, x_b, derivative);
  const auto got = decode_ring(open(*at_a.weight_a, *at_b.weight_a));
  const auto sum = decode_ring(multiply_transposed(x_a, to_ring(*derivative.share)));
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], sum[i] * 8 / 3, 1e-4);
}

TEST_P(MatMulLayer, WorksWhereOnePartyHasNoFeatures) {
  for (const auto& [in_a, in_b] : {std::pair<std::size_t, std::size_t>{0, 5}, {5, 0}}) {
    const MatMulSpec spec = small_spec(in_a, in_b, 2, 8);
    MatMulPair pair(*scheme_, spec);
    const IntMatrix x_a = random_features(spec.features_a, Kind::kDense, 8, in_a, random_);
    const IntMatrix x_b = random_features(spec.features_b, Kind::kDense, 8, in_b, random_);
    const auto [at_a, at_b] = pair.forward(x_a, x_b);
    const ShareMatrix expected =
        in_a > 0 ? multiply(x_a, pair.weight(Party::kA)) : multiply(x_b, pair.weight(Party::kB));
    EXPECT_TRUE(testing::same_output(GetParam(), open(at_a.share, at_b.share), in_ring_of(at_a, expected)));
    const auto [grad_a, grad_b] = pair.backward(x_a, x_b, random_derivative(spec, random_));
    EXPECT_EQ(grad_a.weight_a.has_value(), in_a > 0);
    EXPECT_EQ(grad_b.weight_a.has_value(), in_a > 0);
    EXPECT_EQ(grad_b.weight_b.has_value(), in_b > 0);
  }
}

TEST_P(MatMulLayer, EncryptedPiecesTravelOncePerChangeNotOncePerUse) {
  const MatMulSpec spec = small_spec(4, 4, 2, 8);
  MatMulPair pair(*scheme_, spec);
  const IntMatrix x = random_features(spec.features_a, Kind::kDense, 8, 4, random_);
  const auto operands_sent = [&](Party party) {
    const auto& sent = pair.parties.recording(party).sent();
    return sent.contains(steps::kForwardOperand) ? sent.at(steps::kForwardOperand).messages : 0;
  };
  pair.forward(x, x);
  pair.forward(x, x);
  EXPECT_EQ(operands_sent(Party::kA), 1U);
  EXPECT_EQ(operands_sent(Party::kB), 1U);

  // W_A changes at both parties: B's share of it must be sent again, A's share of W_B need not.
  for (MatMul* half : {&pair.a, &pair.b}) ++half->weight(Party::kA).version;
  pair.b.weight(Party::kA).piece = testing::constant_share(4, 2, 32, 99);
  const auto [at_a, at_b] = pair.forward(x, x);
  EXPECT_EQ(operands_sent(Party::kA), 1U);
  EXPECT_EQ(operands_sent(Party::kB), 2U);
  EXPECT_TRUE(testing::same_output(
      GetParam(), open(at_a.share, at_b.share),
      in_ring_of(at_a, multiply(x, pair.weight(Party::kA)) + multiply(x, pair.weight(Party::kB)))));
}

TEST_P(MatMulLayer, TakesSmallerBatchesToo) {
  const MatMulSpec spec = small_spec(4, 3, 2, 8);
  MatMulPair pair(*scheme_, spec);
  for (const std::size_t rows : {std::size_t{8}, std::size_t{3}, std::size_t{1}}) {
    const IntMatrix x_a = random_features(spec.features_a, Kind::kDense, rows, 4, random_);
    const IntMatrix x_b = random_features(spec.features_b, Kind::kDense, rows, 3, random_);
    const auto [at_a, at_b] = pair.forward(x_a, x_b);
    EXPECT_TRUE(testing::same_output(
        GetParam(), open(at_a.share, at_b.share),
        in_ring_of(at_a, multiply(x_a, pair.weight(Party::kA)) + multiply(x_b, pair.weight(Party::kB)))));
  }
}

TEST_P(MatMulLayer, InitialWeightsHaveTheAskedDeviationAndNoPartyKnowsThem) {
  MatMulSpec spec = small_spec(200, 200, 10, 8);
  spec.initial_deviation = 0.5;
  MatMulPair pair(*scheme_, spec);
  for (const Party party : {Party::kA, Party::kB}) {
    double square = 0;
    double square_of_piece = 0;
    for (const double w : decode_ring(pair.weight(party))) square += w * w;
    for (const double w : decode_ring(pair.a.weight(party).piece)) square_of_piece += w * w;
    EXPECT_NEAR(std::sqrt(square / 2000), 0.5, 0.05);
    EXPECT_NEAR(std::sqrt(square_of_piece / 2000), 0.5 / std::sqrt(2.0), 0.04);
  }
}

TEST_P(MatMulLayer, RefusesFeaturesItWasNotMadeFor) {
  const MatMulSpec spec = small_spec(4, 4, 2, 8);
  MatMulPair pair(*scheme_, spec);
  const auto x = [&](std::size_t rows, std::size_t cols, int scale, std::uint64_t bound) {
    return IntMatrix::dense(rows, cols, std::vector<std::int64_t>(rows * cols), scale, bound);
  };
  EXPECT_THROW((void)pair.a.forward(x(8, 5, 16, 1)), InvalidArgument);
  EXPECT_THROW((void)pair.a.forward(x(8, 4, 15, 1)), InvalidArgument);
  EXPECT_THROW((void)pair.a.forward(x(8, 4, 16, std::uint64_t{1} << 21)), InvalidArgument);
  EXPECT_THROW((void)pair.a.forward(x(9, 4, 16, 1)), InvalidArgument);
  EXPECT_THROW((void)pair.b.backward(x(8, 4, 16, 1), absent_derivative(8, 8)), InvalidArgument);
  EXPECT_THROW((void)pair.b.backward(x(8, 4, 16, 1), absent_derivative(7, 7)), InvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Schemes, MatMulLayer, ::testing::ValuesIn(testing::scheme_names()),
                         [](const auto& scheme) { return scheme.param; });

}  // namespace
}  // namespace blindfl::protocol::matmul_test
