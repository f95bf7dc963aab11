#include "blindfl/he/lattice/tiles.h"

#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "he/lattice/probes.h"

namespace blindfl::he::lattice::tiles_test {
namespace {

const Params& params() {
  static const Params shipped{ParamsSpec{}};
  return shipped;
}

TEST(Tiling, CoversTheProductAndFitsIntoThePolynomial) {
  const std::size_t shapes[][3] = {{1, 1, 1},      {128, 14, 1},     {128, 62, 1},      {62, 128, 1}, {128, 63, 64},
                                   {128, 392, 64}, {392, 128, 64},   {1024, 392, 256},  {5, 1, 7},    {1, 10000, 1},
                                   {2048, 1, 512}, {128, 31000, 20}, {2048, 10000, 512}};
  for (const auto& [rows, inner, cols] : shapes) {
    for (const std::uint64_t bound :
         {std::uint64_t{1}, std::uint64_t{1} << 20, std::uint64_t{1} << 40, std::uint64_t{1} << 62}) {
      const ProductSpec spec{rows, inner, cols, bound, 0, 32, 128};
      const Tiling t = choose_tiling(params(), spec);
      EXPECT_LE(t.rows * t.inner * t.cols, params().degree()) << spec.describe();
      EXPECT_GE(t.row_tiles * t.rows, rows);
      EXPECT_LT((t.row_tiles - 1) * t.rows, rows);
      EXPECT_GE(t.inner_tiles * t.inner, inner * t.limbs);
      EXPECT_GE(t.col_tiles * t.cols, cols);
      EXPECT_GE(static_cast<int>(t.limbs) * t.limb_bits, bit_length(bound) + 1);
      // By the noise that this test takes for the largest, not by what the plan says of it: 40 bits at least.
      const double noise = worst_noise_bits(params(), LatticePlan(params(), spec));
      EXPECT_GE(log2_of_modulus(params()) - Params::kFloodExponent - noise, 40) << spec.describe();
      EXPECT_LT(t.result_position(t.rows - 1, t.cols - 1), params().degree());
    }
  }
}

TEST(Tiling, PutsASmallProductIntoOneCiphertextEachWay) {
  const Tiling t = choose_tiling(params(), {128, 62, 1, 1 << 20, 16, 32, 128});
  EXPECT_EQ(t.row_tiles * t.inner_tiles * t.col_tiles, 1U);
  EXPECT_EQ(t.limbs, 1U);
}

TEST(Tiling, CutsWideValuesIntoLimbs) {
  EXPECT_EQ(choose_tiling(params(), {8, 8, 1, 1 << 20, 0, 0, 128}).limbs, 1U);
  EXPECT_GT(choose_tiling(params(), {8, 8, 1, std::uint64_t{1} << 62, 0, 0, 128}).limbs, 1U);
}

TEST(LatticePlan, PredictsTheBytesOfASmallProduct) {
  const LatticeScheme scheme;
  const auto plan = scheme.plan({128, 62, 1, 1, 0, 32, 128});
  EXPECT_EQ(plan->operand_bytes(), 16 + 32 + 8192 * (3 * 48 + 2 * 35) / 8U);
  EXPECT_EQ(plan->reply_bytes(), 16 + 8192 * 3 * 48 / 8 + 17 * 128U);
  EXPECT_NE(plan->operand_layout(), scheme.plan({128, 63, 2, 1, 0, 32, 128})->operand_layout());
}

}  // namespace
}  // namespace blindfl::he::lattice::tiles_test
