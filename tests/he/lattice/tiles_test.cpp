#include "blindfl/he/lattice/tiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <numeric>
#include <set>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/lattice_plan.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "testing/thrown.h"

namespace blindfl::he::lattice::tiles_test {
namespace {

ProductSpec spec_of(std::size_t rows, std::size_t inner, std::size_t cols, std::uint64_t bound = 1) {
  return {.rows = rows, .inner = inner, .cols = cols, .left_bound = bound, .ring_bits = 64, .noise_bits = 30};
}

constexpr std::size_t kShapes[][3] = {{1, 1, 1},          {128, 14, 1},   {128, 62, 1},   {62, 128, 1},
                                      {128, 63, 64},      {128, 392, 64}, {392, 128, 64}, {1024, 392, 256},
                                      {5, 1, 7},          {1, 10000, 1},  {2048, 1, 512}, {128, 31000, 20},
                                      {2048, 10000, 512}, {100000, 3, 1}, {1, 1, 10000},  {33, 4097, 9}};

TEST(Tiling, CoversTheProductAndFitsIntoThePolynomial) {
  for (const std::size_t degree : {512, 4096, 8192}) {
    for (const auto& [rows, inner, cols] : kShapes) {
      const ProductSpec spec = spec_of(rows, inner, cols);
      const std::vector<Tiling> all = tilings(degree, spec);
      ASSERT_FALSE(all.empty());
      for (const Tiling& t : all) {
        ASSERT_GE(t.rows, 1U);
        ASSERT_GE(t.inner, 1U);
        ASSERT_LE(t.rows * t.inner * t.cols, degree) << spec.describe();
        ASSERT_GE(t.row_tiles * t.rows, rows);
        ASSERT_LT((t.row_tiles - 1) * t.rows, rows) << "no tile without a row";
        ASSERT_GE(t.inner_tiles * t.inner, inner);
        ASSERT_LT((t.inner_tiles - 1) * t.inner, inner);
        ASSERT_GE(t.col_tiles * t.cols, cols);
        ASSERT_LT((t.col_tiles - 1) * t.cols, cols);
        ASSERT_TRUE(t.cols == 1 || (t.cols < 8 ? t.cols == cols : t.cols % 8 == 0));
        ASSERT_LE(t.cols, std::max<std::size_t>(8, degree / 16));
        ASSERT_LE(t.col_tiles * t.cols, std::max<std::size_t>(8, 2 * cols - 1)) << "more than half of it is used";
        ASSERT_LT(t.result_position(t.rows - 1, t.cols - 1), degree);
      }
    }
  }
}

// Worked out by multiplying polynomials: each result stands where it should, and no other product falls there.
TEST(Tiling, PutsEachResultAtItsPosition) {
  constexpr std::size_t kDegree = 512;
  for (const auto& [rows, inner, cols] :
       {std::array<std::size_t, 3>{5, 60, 1}, {3, 20, 8}, {9, 3, 16}, {2, 3, 24}, {1, 512, 1}}) {
    for (const Tiling& t : tilings(kDegree, spec_of(rows, inner, cols))) {
      std::vector<std::set<std::array<std::size_t, 3>>> sums(kDegree);  // (row, j, column) that fall on a position
      for (std::size_t r = 0; r < t.rows; ++r) {
        for (std::size_t j = 0; j < t.inner; ++j) {
          const std::size_t left = t.cols * (r * t.inner + t.inner - 1 - j);
          for (std::size_t i = 0; i < t.inner; ++i) {
            for (std::size_t c = 0; c < t.cols; ++c) {
              const std::size_t at = (left + c + t.cols * i) % kDegree;
              sums[at].insert({r, i == j ? 0U : 1U, c});
            }
          }
        }
      }
      for (std::size_t r = 0; r < t.rows; ++r) {
        for (std::size_t c = 0; c < t.cols; ++c) {
          EXPECT_EQ(sums[t.result_position(r, c)].size(), 1U);
          EXPECT_TRUE(sums[t.result_position(r, c)].contains({r, 0, c}));
        }
      }
    }
  }
}

TEST(Tiling, HasSparseResultsWhereTheTransformCan) {
  for (const std::size_t degree : {512, 4096, 8192}) {
    for (const std::size_t inner : {1, 4, 7, 8, 12, 64, 512, 1024, 4096}) {
      Tiling t;
      t.cols = 1;
      t.inner = inner;
      EXPECT_EQ(t.sparse_results(degree), inner >= 8 && inner <= degree / 8 && std::has_single_bit(inner)) << inner;
      t.cols = 8;
      EXPECT_FALSE(t.sparse_results(degree));
    }
  }
}

TEST(LatticePlan, PutsASmallProductIntoFewCiphertexts) {
  const LatticeScheme scheme;
  const auto plan = scheme.plan(spec_of(128, 62, 1));
  const Tiling& t = dynamic_cast<const LatticePlan&>(*plan).tiling();
  EXPECT_EQ(plan->key_set(), "4096/100");
  EXPECT_LE(t.row_tiles * t.inner_tiles + t.row_tiles, 4U);
  EXPECT_TRUE(t.sparse_results(4096));
}

TEST(LatticePlan, PredictsTheBytesOfASmallProduct) {
  const LatticeScheme scheme;
  const auto plan = scheme.plan(spec_of(60, 62, 1));
  const auto& own = dynamic_cast<const LatticePlan&>(*plan);
  EXPECT_EQ(plan->operand_bytes(), 16 + 32 + 4096 * 100 / 8U);
  EXPECT_EQ(plan->reply_bytes(), 16 + 4096 * (100 - static_cast<unsigned>(own.budget().cut)) / 8U);
  EXPECT_GT(own.budget().cut, 10);
  EXPECT_NE(plan->operand_layout(), scheme.plan(spec_of(60, 63, 2))->operand_layout());
  ProductSpec other_ring = spec_of(60, 62, 1);
  other_ring.ring_bits = 63;
  EXPECT_NE(plan->operand_layout(), scheme.plan(other_ring)->operand_layout()) << "encoded for the ring";
}

TEST(LatticePlan, TakesALargerSetWhereTheSmallerHidesTooLittle) {
  const LatticeScheme scheme;
  std::set<std::string> sets;
  for (const int log_bound : {0, 20, 62}) {
    for (const int ring_bits : {48, 64, 97, 128}) {
      for (const int noise_bits : {16, 30}) {
        ProductSpec spec = spec_of(128, 62, 1, std::uint64_t{1} << log_bound);
        spec.ring_bits = ring_bits;
        spec.noise_bits = noise_bits;
        spec.run_values = 1 << 20;
        try {
          sets.insert(scheme.plan(spec)->key_set());
        } catch (const InvalidArgument&) {
          EXPECT_EQ(log_bound, 62);
        }
      }
    }
  }
  EXPECT_GE(sets.size(), 4U);
}

TEST(LatticePlan, SaysWhatToChangeWhereNothingHides) {
  ProductSpec spec = spec_of(128, 62, 1, std::uint64_t{1} << 62);
  spec.ring_bits = 128;
  spec.noise_bits = 4;
  EXPECT_THAT(testing::message_of<InvalidArgument>([&] { (void)LatticeScheme().plan(spec); }),
              ::testing::HasSubstr("allow more noise"));
  spec = spec_of(128, 62, 1);
  spec.noise_bits = 0;
  EXPECT_THROW((void)LatticeScheme().plan(spec), InvalidArgument);
}

// As large as products can be: costs do not wrap around.
TEST(LatticePlan, OfTheLargestProductsHasTilesOfManyColumns) {
  ProductSpec spec = spec_of(1 << 12, std::size_t{1} << 20, std::size_t{1} << 20);
  const auto plan = LatticeScheme().plan(spec);
  EXPECT_EQ(dynamic_cast<const LatticePlan&>(*plan).tiling().cols, 256U);
}

// The more of a tile is used, the fewer there are of both matrices.
TEST(LatticePlan, CutsColumnsIntoTilesThatTheyFill) {
  for (const std::size_t cols : {96, 160, 320}) {
    const auto plan = LatticeScheme().plan(spec_of(128, 64, cols));
    const Tiling& t = dynamic_cast<const LatticePlan&>(*plan).tiling();
    EXPECT_EQ(t.cols * t.col_tiles, cols);
    EXPECT_FALSE(std::has_single_bit(t.cols)) << t.cols;
    EXPECT_EQ(t.repeats(), std::gcd(t.cols, std::size_t{1} << 20));
  }
}

TEST(LatticePlan, NamesEveryAreaOfTheResultOnce) {
  const LatticeScheme scheme;
  for (const auto& [rows, inner, cols] : {std::array<std::size_t, 3>{700, 392, 70}, {1, 1, 1}, {129, 31, 9}}) {
    const auto plan = scheme.plan(spec_of(rows, inner, cols));
    std::vector<int> seen(rows * cols);
    for (const LatticePlan::Area& area : dynamic_cast<const LatticePlan&>(*plan).reply_order()) {
      for (std::size_t r = 0; r < area.rows; ++r) {
        for (std::size_t c = 0; c < area.cols; ++c) ++seen[(area.first_row + r) * cols + area.first_col + c];
      }
    }
    EXPECT_EQ(seen, std::vector<int>(rows * cols, 1));
  }
}

}  // namespace
}  // namespace blindfl::he::lattice::tiles_test
