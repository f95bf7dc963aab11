// Products of the largest shapes there are: sparse, so that what they should be can be worked out.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/share/products.h"
#include "testing/matrices.h"

namespace blindfl::he::large_product_test {
namespace {

TEST(LargeProduct, OfTheLargestShapeComesOutWithinItsBound) {
  constexpr std::size_t kRows = 2048;
  constexpr std::size_t kInner = 10000;
  constexpr std::size_t kCols = 512;
  constexpr std::uint64_t kBound = 1 << 20;
  SeededRandom seeded(4);
  std::vector<std::size_t> starts{0};
  std::vector<IntMatrix::Column> columns;
  std::vector<std::int64_t> values;
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t k = 0; k < 5; ++k) {  // ascending, from end to end
      columns.push_back(static_cast<IntMatrix::Column>(k * kInner / 5 + seeded.below(kInner / 5)));
      values.push_back(testing::random_value(kBound, seeded));
    }
    starts.push_back(columns.size());
  }
  const IntMatrix x =
      IntMatrix::csr(kRows, kInner, std::move(starts), std::move(columns), std::move(values), 0, kBound);

  const LatticeScheme scheme;
  Random random;
  ThreadPool pool(2);
  const auto plan = scheme.plan({.rows = kRows,
                                 .inner = kInner,
                                 .cols = kCols,
                                 .left_bound = kBound,
                                 .right_scale = 32,
                                 .run_values = kRows * kCols,
                                 .noise_bits = 40});
  const KeySetup setup{.set = plan->key_set()};
  const auto owner = scheme.generate_keys(setup, random);
  const auto multiplier = scheme.multiplier(setup, owner->public_key());
  const ShareMatrix m = random_share(kInner, kCols, 32, random);
  BufferSink operand_bytes(plan->operand_bytes());
  owner->encrypt(*plan, m, random, pool, operand_bytes);
  ASSERT_EQ(operand_bytes.bytes().size(), plan->operand_bytes());
  BufferSource operand_in(operand_bytes.bytes());
  const auto operand = multiplier->load(*plan, operand_in, pool);
  BufferSink reply(plan->reply_bytes());
  const ShareMatrix kept = multiplier->multiply(*plan, x, *operand, random, pool, reply);
  BufferSource reply_in(reply.bytes());
  const ShareMatrix off = owner->open(*plan, reply_in, random, pool) + kept - blindfl::multiply(x, m);
  double largest = 0;
  for (const UInt128 v : off.values()) {
    largest = std::max(largest, std::abs(static_cast<double>(static_cast<Int128>(v))));
  }
  EXPECT_LE(largest, plan->largest_error());
  EXPECT_LT(plan->largest_error(), 0x1p40);
}

}  // namespace
}  // namespace blindfl::he::large_product_test
