// A private matrix that was transformed before there was an operand to multiply it with: the same reply, bit for bit.

#include <gtest/gtest.h>

#include <array>

#include "blindfl/base/error.h"
#include "he/lattice/probes.h"
#include "testing/matrices.h"

namespace blindfl::he::lattice::prepared_left_test {
namespace {

using Kind = IntMatrix::Kind;

constexpr std::uint64_t kBound = 1 << 16;

ProductSpec spec_of(std::size_t rows, std::size_t inner, std::size_t cols) {
  return {.rows = rows, .inner = inner, .cols = cols, .left_bound = kBound, .ring_bits = 64, .noise_bits = 40};
}

TEST(PreparedLeft, GivesTheSameReplyAndShare) {
  SeededRandom test_random(1);
  for (const Kernels* kernels : available_kernels()) {
    for (const ParamsSpec& set : {parameter_sets()[0], parameter_sets()[3]}) {
      Lab lab(set, *kernels);
      std::array<std::byte, KeyStream::kKeyBytes> key{};
      lab.random().fill(key);
      // One row tile, several, and more than are made together; one column, few, and more than a block has.
      for (const auto& [rows, inner, cols] :
           {std::array<std::size_t, 3>{5, 30, 1}, {128, 100, 64}, {300, 90, 20}, {40, 30, 160}}) {
        const auto plan = lab.plan(spec_of(rows, inner, cols));
        const auto operand = lab.load(*plan, lab.encrypt(*plan, random_share(inner, cols, 0, lab.random(), 64)));
        for (const Kind kind : {Kind::kDense, Kind::kCsr}) {
          const IntMatrix x = testing::random_matrix(kind, rows, inner, 0, kBound, test_random);
          Random first = Random::derived(key, {});
          const Lab::Reply expected = lab.multiply(*plan, x, *operand, first);
          const auto left = lab.multiplier().prepare_left(*plan, x, lab.pool());
          ASSERT_NE(left, nullptr);
          Random again = Random::derived(key, {});
          ShareMatrix kept;
          const Bytes reply = write_to_bytes([&](ByteSink& out) {
            kept = lab.multiplier().multiply_prepared(*plan, *left, *operand, again, lab.pool(), out);
          });
          EXPECT_EQ(reply, expected.bytes) << rows << "x" << inner << "x" << cols;
          EXPECT_EQ(kept, expected.kept);
        }
      }
    }
  }
}

TEST(PreparedLeft, ServesItsOwnPlanOnly) {
  Lab lab(parameter_sets()[0]);
  SeededRandom test_random(2);
  const auto plan = lab.plan(spec_of(128, 100, 64));
  const auto other = lab.plan(spec_of(128, 100, 1));
  const IntMatrix x = testing::random_matrix(Kind::kDense, 128, 100, 0, kBound, test_random);
  const auto left = lab.multiplier().prepare_left(*other, x, lab.pool());
  const auto operand = lab.load(*plan, lab.encrypt(*plan, random_share(100, 64, 0, lab.random(), 64)));
  BufferSink out;
  EXPECT_THROW((void)lab.multiplier().multiply_prepared(*plan, *left, *operand, lab.random(), lab.pool(), out),
               InvalidArgument);
  const IntMatrix large = IntMatrix::dense(1, 100, std::vector<std::int64_t>(100, 2 * kBound), 0, 2 * kBound);
  EXPECT_THROW((void)lab.multiplier().prepare_left(*plan, large, lab.pool()), InvalidArgument);
}

TEST(PreparedLeft, IsNotMadeOfMoreThanMemoryIsMeantFor) {
  Lab lab(parameter_sets()[3]);
  const auto plan = lab.plan(spec_of(4096, 4096, 1));
  EXPECT_EQ(lab.multiplier().prepare_left(*plan, IntMatrix::one_hot(4096, std::vector<IntMatrix::Column>(4096, 1)),
                                          lab.pool()),
            nullptr);
}

}  // namespace
}  // namespace blindfl::he::lattice::prepared_left_test
