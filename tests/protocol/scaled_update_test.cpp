// Plain SGD with a declared plan: shares of gradients are those of updates, and nothing is lifted.

#include "blindfl/protocol/layers/scaled_update.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "blindfl/base/error.h"
#include "blindfl/share/products.h"
#include "protocol/matmul_fixture.h"
#include "protocol/views.h"
#include "testing/shares.h"
#include "testing/steps.h"
#include "testing/thrown.h"

namespace blindfl::protocol::scaled_update_test {
namespace {

using ::testing::HasSubstr;
using Kind = IntMatrix::Kind;

/// One matrix of derivatives, as reals, and as B has it.
struct Pass {
  IntMatrix x_a;
  IntMatrix x_b;
  std::vector<double> dz;
  Derivative derivative;
};

Pass make_pass(const MatMulSpec& spec, std::size_t real_rows, SeededRandom& random) {
  Pass pass;
  std::vector<std::uint32_t> rows(real_rows);
  for (std::size_t i = 0; i < real_rows; ++i) rows[i] = static_cast<std::uint32_t>(i);
  const auto features = [&](const FixedPointSpec& encoding, std::size_t cols) {
    return random_features(encoding, Kind::kDense, spec.batch, cols, random).select_rows(rows, spec.batch);
  };
  pass.x_a = features(spec.features_a, spec.in_a);
  pass.x_b = features(spec.features_b, spec.in_b);
  for (std::size_t i = 0; i < real_rows * spec.out; ++i) pass.dz.push_back(2 * random.uniform() - 1);
  pass.derivative = encode_derivative(FixedPoint(spec.derivative), spec.batch, spec.out, pass.dz);
  return pass;
}

/// A's weights as plain SGD would have them, in doubles.
class PlainWeights {
 public:
  explicit PlainWeights(const ShareMatrix& weights) : cols_(weights.cols()), values_(decode_ring(weights)) {}

  void step(const std::vector<Pass>& passes, double learning_rate) {
    for (const Pass& pass : passes) {
      const double rate = learning_rate / static_cast<double>(pass.derivative.real_rows);
      for (std::size_t r = 0; r < pass.derivative.real_rows; ++r) {
        pass.x_a.for_each_in_row(r, [&](std::size_t feature, std::int64_t v) {
          const double x = std::ldexp(static_cast<double>(v), -pass.x_a.scale());
          for (std::size_t c = 0; c < cols_; ++c) values_[feature * cols_ + c] -= rate * x * pass.dz[r * cols_ + c];
        });
      }
    }
  }
  [[nodiscard]] double largest_difference(const ShareMatrix& weights) const {
    const std::vector<double> other = decode_ring(weights);
    double largest = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) largest = std::max(largest, std::abs(values_[i] - other[i]));
    return largest;
  }
  [[nodiscard]] const std::vector<double>& values() const { return values_; }

 private:
  std::size_t cols_;
  std::vector<double> values_;
};

MatMulSpec scaled_spec(std::size_t batch, double learning_rate) {
  MatMulSpec spec = small_spec(7, 5, 3, batch);
  spec.sgd = {.learning_rate = learning_rate, .steps = 100};
  return spec;
}

void backward(MatMulPair& pair, const Pass& pass) {
  const auto [a, b] = pair.backward(pass.x_a, pass.x_b, pass.derivative);
  EXPECT_FALSE(a.weight_a.has_value()) << "an update is the layer's own";
  EXPECT_FALSE(b.weight_a.has_value());
  EXPECT_TRUE(b.weight_b.has_value()) << "and B's is the optimizer's";
}

void step(MatMulPair& pair) {
  for (MatMul* half : {&pair.a, &pair.b}) half->weight(Party::kA).update->step();
}

class Scaled : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme(GetParam());
  SeededRandom random_{3};

  /// Some steps, compared with plain SGD after each. Noise is about a unit of the weights, and dZ is rounded to 2^-26.
  void expect_plain_sgd(const MatMulSpec& spec, int steps) {
    MatMulPair pair(*scheme_, spec);
    ASSERT_TRUE(pair.a.params().scaled());
    EXPECT_EQ(pair.weight(Party::kA).ring_bits(), pair.a.params().weight_ring(Party::kA));
    PlainWeights plain(pair.weight(Party::kA));
    const std::vector<double> before = plain.values();
    const SgdPlan plan(spec.sgd);
    for (int i = 0; i < steps; ++i) {
      const Pass pass = make_pass(spec, i % 3 == 2 ? 3 : spec.batch, random_);
      backward(pair, pass);
      step(pair);
      const double rate = plan.learning_rate_at(static_cast<std::size_t>(i));
      plain.step({pass}, rate);
      const double allowed = (i + 1) * (4 * 0x1p-32 + 0x1p-26 * rate * spec.features_a.largest);
      EXPECT_LE(plain.largest_difference(pair.weight(Party::kA)), allowed) << "step " << i;
    }
    EXPECT_NE(before, plain.values());
    // And what A's features make of it is in Z.
    const Pass pass = make_pass(spec, spec.batch, random_);
    const auto [a, b] = pair.forward(pass.x_a, pass.x_b);
    const ShareMatrix z = rescale(multiply(pass.x_a, pair.weight(Party::kA)), pair.a.params().product_scale()) +
                          narrowed(rescale(multiply(pass.x_b, pair.weight(Party::kB)), pair.a.params().product_scale()),
                                   a.share.ring_bits());
    EXPECT_TRUE(testing::same_output(GetParam(), open(a.share, b.share), z));
  }
};

TEST_P(Scaled, IsPlainSgdWithScheduleAndShortBatches) {
  MatMulSpec spec = scaled_spec(8, 0.1);
  spec.sgd.schedule = {{2, 0.01}, {4, 0.5}};
  expect_plain_sgd(spec, 6);
}

TEST_P(Scaled, LosesNothingOfSmallLearningRates) {
  MatMulSpec spec = scaled_spec(128, 1e-4);
  expect_plain_sgd(spec, 3);
  spec.features_a = spec.features_b = {.scale = 0, .largest = 1.0, .clip = false};
  expect_plain_sgd(spec, 3);
}

TEST_P(Scaled, AddsUpPassesAndForgetsThoseThatAreDiscarded) {
  const MatMulSpec spec = scaled_spec(8, 0.1);
  MatMulPair pair(*scheme_, spec);
  PlainWeights plain(pair.weight(Party::kA));
  const std::uint64_t version = pair.a.weight(Party::kA).version;
  const Pass lost = make_pass(spec, 8, random_);
  backward(pair, lost);
  for (MatMul* half : {&pair.a, &pair.b}) half->weight(Party::kA).update->discard();
  step(pair);
  EXPECT_EQ(pair.a.weight(Party::kA).version, version) << "nothing has changed";
  const std::vector<Pass> passes = {make_pass(spec, 8, random_), make_pass(spec, 5, random_)};
  for (const Pass& pass : passes) backward(pair, pass);
  step(pair);
  plain.step(passes, 0.1);
  EXPECT_LE(plain.largest_difference(pair.weight(Party::kA)), 0x1p-26);
  for (MatMul* half : {&pair.a, &pair.b}) EXPECT_EQ(half->weight(Party::kA).version, version + 1);
}

INSTANTIATE_TEST_SUITE_P(Schemes, Scaled, ::testing::ValuesIn(testing::scheme_names()),
                         [](const auto& scheme) { return scheme.param; });

TEST(ScaledParams, AreForPlainSgdWithDeclaredStepsOnly) {
  EXPECT_TRUE(MatMulParams(scaled_spec(8, 0.1)).scaled());
  MatMulSpec spec = scaled_spec(8, 0.1);
  spec.sgd.steps = 0;
  EXPECT_FALSE(MatMulParams(spec).scaled());
  spec = scaled_spec(8, 0.1);
  spec.sgd.momentum = 0.5;
  EXPECT_FALSE(MatMulParams(spec).scaled());
  spec = scaled_spec(8, 0.1);
  spec.sgd.weight_decay = 1e-3;
  EXPECT_FALSE(MatMulParams(spec).scaled());
  spec = scaled_spec(8, 0.1);
  spec.in_a = 0;
  EXPECT_FALSE(MatMulParams(spec).scaled());
}

TEST(ScaledParams, KeepThePrecisionOfTheSmallestRateAndLiftNothing) {
  MatMulSpec spec = scaled_spec(128, 0.1);
  spec.features_a = {.scale = 0, .largest = 1.0, .clip = false};
  for (const double smallest : {0.1, 1e-4, 1e-7}) {
    spec.sgd.schedule = {{50, smallest}, {60, 0.0}};
    const MatMulParams params(spec);
    ASSERT_TRUE(params.scaled());
    const he::ProductSpec backward = params.backward(128);
    EXPECT_LE(std::exp2(-backward.right_scale), 0x1p-26 * smallest / 128);
    EXPECT_EQ(backward.lifted_bits, 0);
    EXPECT_EQ(params.failure_of_factors(), 0);
    const int finer = backward.result_scale() - spec.weight_scale;
    EXPECT_GE(finer, 0);
    EXPECT_EQ(backward.ring_bits, params.weight_ring(Party::kA) + finer);
    EXPECT_EQ(backward.noise_bits, finer + 1) << "about a unit of the weights";
  }
  spec.sgd.schedule = {{50, 1e-30}};
  EXPECT_FALSE(MatMulParams(spec).scaled()) << "no ring has room for it: gradients are lifted, and scaled afterwards";
}

TEST(ScaledState, ResumesAtTheSameRateAndIsNotForLayersThatLift) {
  const testing::PlainScheme scheme;
  SeededRandom random(3);
  MatMulSpec spec = scaled_spec(8, 0.1);
  spec.sgd.schedule = {{1, 0.01}};
  const auto save = [](const MatMul& layer) { return write_to_bytes([&](ByteSink& out) { layer.save(out); }); };
  MatMulPair first(scheme, spec);
  const Pass pass = make_pass(spec, 8, random);
  backward(first, pass);
  EXPECT_THROW((void)save(first.a), InvalidArgument);
  step(first);
  const Bytes at_a = save(first.a);
  const Bytes at_b = save(first.b);

  // A longer training goes on where this one was.
  MatMulSpec longer = spec;
  longer.sgd.steps = 200;
  MatMulPair second(scheme, longer);
  const auto load = [](MatMul& layer, const Bytes& bytes) {
    BufferSource in(bytes);
    layer.load(in);
  };
  load(second.a, at_a);
  load(second.b, at_b);
  PlainWeights plain(second.weight(Party::kA));
  backward(second, pass);
  step(second);
  plain.step({pass}, 0.01);
  EXPECT_LE(plain.largest_difference(second.weight(Party::kA)), 0x1p-26);

  MatMulSpec lifting = spec;
  lifting.sgd = {};
  MatMulPair third(scheme, lifting);
  EXPECT_THAT(testing::message_of<DataError>([&] { load(third.a, at_a); }), HasSubstr("weights_a"));
}

TEST(ScaledContract, NeitherPieceOfATrainedWeightTellsTheWeight) {
  const testing::PlainScheme scheme;
  SeededRandom random(3);
  MatMulSpec spec = small_spec(8, 6, 32, 64);
  spec.sgd = {.learning_rate = 0.1, .steps = 100};
  MatMulPair pair(scheme, spec);
  std::pair<RingView, RingView> views;
  for (int i = 0; i < 8; ++i) {
    backward(pair, make_pass(spec, 64, random));
    step(pair);
    const ShareMatrix weight = pair.weight(Party::kA);
    views.first.add(pair.a.weight(Party::kA).piece, weight);
    views.second.add(pair.b.weight(Party::kA).piece, weight);
  }
  EXPECT_TRUE(views.first.hides_the_secret());
  EXPECT_TRUE(views.second.hides_the_secret());
}

}  // namespace
}  // namespace blindfl::protocol::scaled_update_test
