#include "blindfl/protocol/layers/matmul_params.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "blindfl/base/error.h"

namespace blindfl::protocol::matmul_params_test {
namespace {

using ::testing::HasSubstr;

MatMulSpec good() {
  MatMulSpec spec;
  spec.name = "first";
  spec.in_a = 10;
  spec.in_b = 20;
  spec.out = 3;
  spec.batch = 128;
  return spec;
}

TEST(MatMulParams, RefusesWhatCouldOverflowNamingLayerShapeAndScale) {
  struct Case {
    const char* name;
    void (*change)(MatMulSpec&);
    const char* says;
  };
  const Case cases[] = {
      {"no outputs", [](MatMulSpec& s) { s.out = 0; }, "outputs"},
      {"no rows", [](MatMulSpec& s) { s.batch = 0; }, "rows"},
      {"no inputs", [](MatMulSpec& s) { s.in_a = s.in_b = 0; }, "inputs"},
      {"a gradient that outgrows its ring",
       [](MatMulSpec& s) {
         s.derivative = {20, 0x1p40, false};
       },
       "at scale 32"},
      {"an output that outgrows its ring",
       [](MatMulSpec& s) {
         s.features_b = {60, 1.0, false};
         s.weight_scale = 50;
       },
       "at scale 110"},
      {"an output that no words hold",
       [](MatMulSpec& s) {
         s.largest_output = 0x1p40;
         s.output_scale = 18;
       },
       "largest output"},
      {"a largest output that is not one", [](MatMulSpec& s) { s.largest_output = std::nan(""); }, "largest output"},
      {"wide features",
       [](MatMulSpec& s) {
         s.features_a = {40, 1000.0, false};
       },
       "at scale 56"},
      {"huge batches", [](MatMulSpec& s) { s.batch = std::size_t{1} << 40; }, "gradients"},
      {"runs without end", [](MatMulSpec& s) { s.run.passes = std::uint64_t{1} << 40; }, "length of the run"},
      {"a negative weight scale", [](MatMulSpec& s) { s.weight_scale = -1; }, "fractional bits"},
      {"an output that cannot be opened",
       [](MatMulSpec& s) {
         s.output_scale = 48;
         s.fine_outputs_reveal_features = true;
       },
       "could overflow when they are opened"},
      {"an output that gives features away", [](MatMulSpec& s) { s.output_scale = 21; },
       "gives A's features away to B by lattice reduction; take 20 at most, or set fine_outputs_reveal_features"},
      {"a gradient that a factor could outgrow", [](MatMulSpec& s) { s.gradient_scale = 60; }, "gradient scale"},
      {"an output scale beyond the product's", [](MatMulSpec& s) { s.output_scale = 49; }, "it has 48"},
      {"a weight bound that is not one", [](MatMulSpec& s) { s.largest_weight = std::nan(""); }, "largest weight"},
      {"a deviation that is not one", [](MatMulSpec& s) { s.initial_deviation = -1; }, "deviation"},
  };
  for (const Case& c : cases) {
    MatMulSpec spec = good();
    c.change(spec);
    try {
      const MatMulParams params(spec);
      ADD_FAILURE() << c.name << " was accepted";
    } catch (const InvalidArgument& error) {
      EXPECT_THAT(error.what(), HasSubstr("layer 'first'")) << c.name;
      EXPECT_THAT(error.what(), HasSubstr("batch " + std::to_string(spec.batch))) << c.name;
      EXPECT_THAT(error.what(), HasSubstr(c.says)) << c.name;
    }
  }
}

TEST(MatMulParams, OpensNoFinerThanTwentyBitsUnlessAsked) {
  MatMulSpec spec = good();
  spec.output_scale = 20;
  EXPECT_EQ(MatMulParams(spec).spec().output_scale, 20);
  spec.output_scale = 21;
  EXPECT_THROW((void)MatMulParams(spec), InvalidArgument);
  spec.fine_outputs_reveal_features = true;
  EXPECT_EQ(MatMulParams(spec).spec().output_scale, 21);
}

TEST(MatMulParams, ComputesBitsThatTheWorstCaseReaches) {
  const MatMulParams params(good());
  EXPECT_EQ(params.product_scale(), 48);
  // 20 features of 16 * 2^16 against weights of 1024 * 2^32 can make more, but no Z is taken to exceed 2^15.
  EXPECT_EQ(params.output_bits(), 48 + 15);
  EXPECT_EQ(params.output_ring(), 48 + 15 + 5);
  // B's: 128 rows of 2^20 against derivatives of 256 * 2^32, brought from scale 48 to 32.
  EXPECT_EQ(params.gradient_bits(Party::kB), 7 + 20 + 40 + 1 - 16);
  MatMulSpec small = good();
  small.largest_weight = 0.125;
  small.features_a = small.features_b = {.scale = 0, .largest = 1.0, .clip = false};
  // 20 features of 1 against weights of 2^29, and as much again from the other party.
  EXPECT_EQ(MatMulParams(small).output_bits(), 34 + 1);
  EXPECT_EQ(MatMulParams(small).output_ring(), 32 + 15 + 5) << "other layers may add to it";
}

TEST(MatMulParams, LiftsGradientsFromARingThatIsWideEnoughForTheRun) {
  for (const std::uint64_t passes : {std::uint64_t{1}, std::uint64_t{2000}, std::uint64_t{1} << 16}) {
    MatMulSpec spec = good();
    spec.run.passes = passes;
    const MatMulParams params(spec);
    const he::ProductSpec backward = params.backward(128);
    EXPECT_EQ(backward.right_scale, params.derivative_scale());
    EXPECT_GE(params.derivative_scale(), 16);
    EXPECT_LE(params.derivative_scale(), 24);
    // 128 rows of 16 * 2^16 against derivatives of 1 at that scale.
    EXPECT_EQ(backward.lifted_bits, 7 + 20 + params.derivative_scale() + 1);
    EXPECT_LE(backward.ring_bits, 128);
    const double values = 10.0 * 3 * static_cast<double>(passes);
    EXPECT_LE(values * backward.lift_failure(), 0x1p-40 / static_cast<double>(params.products()));
    EXPECT_EQ(backward.noise_bits, backward.result_scale() - 11) << "2^-11 of a summed gradient, 2^-18 of a mean";
    // What an optimizer adds up with momentum, over passes and in short batches is still a number.
    const int share_bits = backward.ring_bits - 1 - (backward.result_scale() - params.gradient_scale(Party::kA));
    EXPECT_LE(share_bits + 12, 127);
    EXPECT_EQ(params.failure_of_factors(), 0);
    EXPECT_GE(params.gradient_scale(Party::kA), 16);
  }
}

TEST(MatMulParams, HoldARunToTheMeanOfItsDerivatives) {
  MatMulSpec spec = good();
  spec.run.passes = 10;
  // 128 rows, 3 outputs, 10 passes.
  EXPECT_EQ(MatMulParams(spec).most_derivatives(), 128.0 * 3 * 10);
  spec.derivative.largest = 1024;
  EXPECT_EQ(MatMulParams(spec).most_derivatives(), 4 * 128.0 * 3 * 10);
  spec.derivative.largest = 0.5;
  EXPECT_EQ(MatMulParams(spec).most_derivatives(), 0.5 * 128.0 * 3 * 10);
}

// A run that spends all that it is held to: lifts fail with the sum of all gradients over the ring.
TEST(MatMulParams, HaveRoomForAllDerivativesThatARunIsHeldTo) {
  for (const double largest : {0.5, 1.0, 4.0, 256.0, 1024.0}) {
    for (const std::size_t batch : {1U, 16U, 128U, 1024U, 8192U, 65536U}) {
      MatMulSpec spec = good();
      spec.batch = batch;
      spec.derivative.largest = largest;
      const MatMulParams params(spec);
      const he::ProductSpec backward = params.backward(batch);
      const double gradients = static_cast<double>(spec.in_a) * static_cast<double>(backward.left_bound) *
                               std::ldexp(params.most_derivatives(), params.derivative_scale());
      EXPECT_LE(std::ldexp(gradients, -backward.ring_bits), 0x1p-40 / static_cast<double>(params.products()))
          << largest << ' ' << batch;
    }
  }
}

TEST(MatMulParams, LeaveGradientsOfSmallBatchesMoreBits) {
  for (const auto& [batch, precision] : {std::pair{1, 16}, {4, 16}, {8, 15}, {128, 11}, {1024, 8}, {4096, 8}}) {
    EXPECT_EQ(gradient_precision(static_cast<std::size_t>(batch)), precision) << batch;
  }
}

TEST(MatMulParams, CountsTheFactorsOfDecayAndOfSharesThatAreTooLong) {
  MatMulSpec spec = good();
  spec.sgd.weight_decay = 0.01;
  // 2^42 of 2^127, for each of 30 weights and 2000 passes.
  EXPECT_DOUBLE_EQ(MatMulParams(spec).failure_of_factors(), 30.0 * 2000 * 0x1p-85);
  spec = good();
  spec.features_a = {.scale = 0, .largest = 0x1p30, .clip = false};
  EXPECT_LT(MatMulParams(spec).failure_of_factors(), 0x1p-40);
}

TEST(MatMulParams, BringsPartiesWithDifferentScalesTogether) {
  MatMulSpec spec = good();
  spec.features_a = {.scale = 0, .largest = 1.0, .clip = false};
  const MatMulParams params(spec);
  EXPECT_EQ(params.product_scale(), 48);
  EXPECT_EQ(params.forward(Party::kA, 128).result_scale(), 32);
  EXPECT_EQ(params.forward(Party::kB, 128).result_scale(), 48);
  EXPECT_EQ(params.forward(Party::kA, 128).left_bound, 1U);
  // Each in the ring that Z needs of it, and with noise that is half a unit of what is opened.
  EXPECT_EQ(params.forward(Party::kA, 128).ring_bits, 68 - 16);
  EXPECT_EQ(params.forward(Party::kB, 128).ring_bits, 68);
  EXPECT_EQ(params.forward(Party::kA, 128).noise_bits, 32 - 16 - 1);
  EXPECT_EQ(params.forward(Party::kB, 128).noise_bits, 48 - 16 - 1);
}

TEST(MatMulParams, MakesTheSpecsOfItsProducts) {
  const MatMulParams params(good());
  const he::ProductSpec forward = params.forward(Party::kB, 64);
  EXPECT_EQ(forward.rows, 64U);
  EXPECT_EQ(forward.inner, 20U);
  EXPECT_EQ(forward.cols, 3U);
  EXPECT_EQ(forward.right_bits, 128);
  const he::ProductSpec backward = params.backward(64);
  EXPECT_EQ(backward.rows, 10U);
  EXPECT_EQ(backward.inner, 64U);
  // 256 at that scale, of one row that counts for 128, and a sign.
  EXPECT_EQ(backward.right_bits, 8 + params.derivative_scale() + 7 + 2);
  EXPECT_THROW((void)params.forward(Party::kA, 129), InvalidArgument);
  EXPECT_THROW((void)params.forward(Party::kA, 0), InvalidArgument);
}

TEST(MatMulParams, TakesTheDeviationOfTorchsLinearUnlessTold) {
  MatMulSpec spec = good();
  EXPECT_DOUBLE_EQ(MatMulParams(spec).initial_deviation(), 1 / std::sqrt(90.0));
  spec.initial_deviation = 0.25;
  EXPECT_DOUBLE_EQ(MatMulParams(spec).initial_deviation(), 0.25);
}

}  // namespace
}  // namespace blindfl::protocol::matmul_params_test
