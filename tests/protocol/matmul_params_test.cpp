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
      {"a gradient that outgrows its share",
       [](MatMulSpec& s) {
         s.derivative = {50, 4000.0, false};
       },
       "at scale 66"},
      {"an output that outgrows its share", [](MatMulSpec& s) { s.largest_weight = 0x1p36; }, "at scale 48"},
      {"wide features",
       [](MatMulSpec& s) {
         s.features_a = {40, 1000.0, false};
       },
       "at scale 72"},
      {"huge batches", [](MatMulSpec& s) { s.batch = std::size_t{1} << 40; }, "gradients"},
      {"a negative weight scale", [](MatMulSpec& s) { s.weight_scale = -1; }, "fractional bits"},
      {"an output that cannot be opened",
       [](MatMulSpec& s) {
         s.output_scale = 48;
         s.fine_outputs_reveal_features = true;
       },
       "could overflow when they are opened"},
      {"an output that gives features away", [](MatMulSpec& s) { s.output_scale = 21; },
       "gives A's features away to B by lattice reduction; take 20 at most, or set fine_outputs_reveal_features"},
      {"a gradient that a short batch could outgrow", [](MatMulSpec& s) { s.gradient_scale = 60; }, "gradient scale"},
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
  // 20 features of 16 * 2^16 against weights of 1024 * 2^32: 20 * 2^20 * 2^42, and as much again from the other party.
  EXPECT_EQ(params.output_bits(), 67 + 1);
  EXPECT_EQ(params.product_scale(), 48);
  // 128 rows of 2^20 against derivatives of 256 * 2^32, brought from scale 48 to 32.
  EXPECT_EQ(params.gradient_bits(), 7 + 20 + 40 + 1 - 16);
}

TEST(MatMulParams, BringsPartiesWithDifferentScalesTogether) {
  MatMulSpec spec = good();
  spec.features_a = {.scale = 0, .largest = 1.0, .clip = false};
  const MatMulParams params(spec);
  EXPECT_EQ(params.product_scale(), 48);
  EXPECT_EQ(params.forward(Party::kA, 128).result_scale(), 32);
  EXPECT_EQ(params.forward(Party::kB, 128).result_scale(), 48);
  EXPECT_EQ(params.forward(Party::kA, 128).left_bound, 1U);
}

TEST(MatMulParams, MakesTheSpecsOfItsProducts) {
  const MatMulParams params(good());
  const he::ProductSpec forward = params.forward(Party::kB, 64);
  EXPECT_EQ(forward.rows, 64U);
  EXPECT_EQ(forward.inner, 20U);
  EXPECT_EQ(forward.cols, 3U);
  EXPECT_EQ(forward.right_bits, 128);
  const he::ProductSpec backward = params.backward(Party::kA, 64);
  EXPECT_EQ(backward.rows, 10U);
  EXPECT_EQ(backward.inner, 64U);
  EXPECT_EQ(backward.right_bits, 42);  // 256 * 2^32 has 41 bits, and a sign
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
