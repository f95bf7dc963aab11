#include "blindfl/share/dense_product.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "blindfl/base/random.h"
#include "blindfl/share/products.h"

namespace blindfl::dense_product_test {
namespace {

constexpr UInt128 kAllOnes = ~static_cast<UInt128>(0);
constexpr UInt128 kOne = 1;
const std::vector<int> kRings = {1, 8, 34, 51, 52, 53, 64, 65, 68, 72, 100, 104, 127, 128};

/// What fills a matrix: at random, or with the one value that makes sums the longest.
enum class Fill { kRandom, kMost, kLeast };

IntMatrix left_matrix(std::size_t rows, std::size_t cols, std::uint64_t bound, SeededRandom& random) {
  const auto most = static_cast<std::int64_t>(bound);
  std::vector<std::int64_t> values(rows * cols);
  for (std::int64_t& v : values) {
    v = static_cast<std::int64_t>(random.below(2 * bound + 1)) - most;
    if (random.below(8) == 0) v = random.below(2) == 0 ? most : -most;
  }
  return IntMatrix::dense(rows, cols, std::move(values), 3, bound);
}

ShareMatrix right_matrix(std::size_t rows, std::size_t cols, int ring_bits, Fill fill, SeededRandom& random) {
  ShareMatrix m(rows, cols, 4, ring_bits);
  for (UInt128& v : m.values()) {
    if (fill == Fill::kMost) v = kAllOnes;
    if (fill == Fill::kLeast) v = kOne << (ring_bits - 1);
    if (fill == Fill::kRandom) v = static_cast<UInt128>(random.next_u64()) << 64 | random.next_u64();
    if (fill == Fill::kRandom && random.below(8) == 0) v = kAllOnes;
  }
  m.reduce();
  return m;
}

/// Digits that are all the longest, of either sign: where sums of doubles would be rounded first.
ShareMatrix longest_digits(const DigitPlan& plan, std::size_t rows, std::size_t cols, int ring_bits, bool upper) {
  ShareMatrix m(rows, cols, 4, ring_bits);
  for (UInt128& v : m.values()) v = (upper ? kAllOnes : 0) - plan.right_offset;
  m.reduce();
  return m;
}

/// A number up to `most` whose lower digits are all the longest, and odd.
std::int64_t longest_left(const DigitPlan& plan, std::int64_t most) {
  const int lower = plan.left_bits * static_cast<int>(plan.left_digits - 1);
  const std::int64_t ones = (std::int64_t{1} << lower) - 1 - static_cast<std::int64_t>(plan.left_offset);
  const std::int64_t top = most >> lower;
  return ones + ((top > 0 && plan.left_digits > 1 ? top - 1 : top) << lower);
}

ShareMatrix plain_product(const IntMatrix& x, const ShareMatrix& m, bool transposed) {
  const std::vector<std::int64_t> left = x.to_dense();
  ShareMatrix out(transposed ? x.cols() : x.rows(), m.cols(), x.scale() + m.scale(), m.ring_bits());
  for (std::size_t r = 0; r < out.rows(); ++r) {
    for (std::size_t k = 0; k < m.rows(); ++k) {
      const auto factor =
          static_cast<UInt128>(static_cast<Int128>(left[transposed ? k * x.cols() + r : r * x.cols() + k]));
      for (std::size_t c = 0; c < m.cols(); ++c) out.row(r)[c] += factor * m.row(k)[c];
    }
  }
  out.reduce();
  return out;
}

class DenseProductWith : public ::testing::TestWithParam<const ProductKernels*> {
 protected:
  void expect_right(const IntMatrix& x, const ShareMatrix& m, const std::string& what) {
    const IntMatrix turned = x.transpose();
    const ShareMatrix expected = plain_product(x, m, false);
    for (ThreadPool* pool : {&one_, &three_}) {
      EXPECT_TRUE(dense_product(*GetParam(), x, m, false, *pool) == expected) << what;
      EXPECT_TRUE(dense_product(*GetParam(), turned, m, true, *pool) == expected) << what << ", transposed";
    }
  }

  ThreadPool one_{1};
  ThreadPool three_{3};
  SeededRandom random_{7};
};

INSTANTIATE_TEST_SUITE_P(Kernels, DenseProductWith, ::testing::ValuesIn(available_product_kernels()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST_P(DenseProductWith, IsThatOfThePlainLoopForEveryBoundAndRing) {
  std::vector<std::uint64_t> bounds = {0, 1, 2, 3};
  for (int bits = 7; bits <= 62; bits += 5) bounds.push_back(std::uint64_t{1} << bits);
  for (const int bits : {17, 18, 26, 40, 51, 52}) {
    bounds.push_back((std::uint64_t{1} << bits) - 1);
    bounds.push_back((std::uint64_t{1} << bits) + 1);
  }
  for (const std::uint64_t bound : bounds) {
    for (const int ring : kRings) {
      const IntMatrix x = left_matrix(5, 19, bound, random_);
      const ShareMatrix m = right_matrix(19, 11, ring, Fill::kRandom, random_);
      expect_right(x, m, "bound " + std::to_string(bound) + ", ring " + std::to_string(ring));
    }
  }
}

TEST_P(DenseProductWith, IsRightForTheLongestSums) {
  constexpr std::size_t kInner = 700;
  for (const int bits : {0, 17, 25, 26, 40, 51, 52, 62}) {
    for (const std::uint64_t less : {0, 1}) {
      const std::uint64_t bound = (std::uint64_t{1} << bits) - less;
      for (const int ring : {64, 68, 72, 100, 104, 128}) {
        const DigitPlan plan = GetParam()->plan(bound, ring, 350);
        std::vector<ShareMatrix> rights;
        for (const bool upper : {false, true}) {
          rights.push_back(right_matrix(kInner, 2, ring, upper ? Fill::kMost : Fill::kLeast, random_));
          rights.push_back(longest_digits(plan, kInner, 2, ring, upper));
        }
        const auto most = static_cast<std::int64_t>(bound);
        const std::int64_t longest = GetParam()->offset_remains ? most - 1 : longest_left(plan, most);
        for (const std::int64_t value : {most, -most, longest}) {
          if (bound < 2 && value == longest) continue;
          const IntMatrix x = IntMatrix::dense(2, kInner, std::vector<std::int64_t>(2 * kInner, value), 3, bound);
          for (const ShareMatrix& m : rights) {
            expect_right(x, m, std::to_string(value) + ", ring " + std::to_string(ring));
          }
        }
      }
    }
  }
}

TEST_P(DenseProductWith, IsRightForEveryShape) {
  for (const std::size_t rows : {1, 2, 5, 6, 7, 8, 9, 17}) {
    for (const std::size_t cols : {1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33}) {
      for (const std::size_t inner : {1, 2, 40, 513}) {
        const IntMatrix x = left_matrix(rows, inner, 1 << 20, random_);
        const ShareMatrix m = right_matrix(inner, cols, 90, Fill::kRandom, random_);
        expect_right(x, m, std::to_string(rows) + " x " + std::to_string(inner) + " x " + std::to_string(cols));
      }
    }
  }
}

TEST_P(DenseProductWith, IsRightForNothing) {
  for (const auto& [rows, inner, cols] :
       std::vector<std::array<std::size_t, 3>>{{0, 3, 2}, {3, 0, 2}, {3, 2, 0}, {0, 0, 0}}) {
    expect_right(left_matrix(rows, inner, 5, random_), right_matrix(inner, cols, 90, Fill::kRandom, random_),
                 "nothing");
  }
}

TEST_P(DenseProductWith, IsWhatMultiplyGivesWhereItIsWorthIt) {
  const IntMatrix x = left_matrix(128, 62, 1 << 17, random_);
  const ShareMatrix m = right_matrix(62, 64, 68, Fill::kRandom, random_);
  EXPECT_TRUE(worth_cutting(*GetParam(), x, m, false));
  EXPECT_TRUE(worth_cutting(*GetParam(), x.transpose(), m, true));
  EXPECT_FALSE(worth_cutting(*GetParam(), x, ShareMatrix(62, 1, 0), false));
  EXPECT_FALSE(worth_cutting(*GetParam(), IntMatrix::one_hot(62, std::vector<IntMatrix::Column>(128)), m, false));
  EXPECT_TRUE(multiply(x, m, three_) == dense_product(*GetParam(), x, m, false, one_));
  EXPECT_TRUE(multiply_transposed(x.transpose(), m, three_) == dense_product(*GetParam(), x, m, false, one_));
}

// A sum is exact as long as it is below 2^64, or as a double below 2^53.
TEST(DigitPlan, SumsFitForEveryBoundAndRing) {
  for (int bits = 0; bits <= 62; ++bits) {
    const std::uint64_t bound = std::uint64_t{1} << bits;
    for (int ring = 1; ring <= 128; ++ring) {
      const DigitPlan words = unsigned_digits(bound, ring);
      const DigitPlan doubles = signed_digits(bound, ring, 512);
      for (const DigitPlan& plan : {words, doubles}) {
        ASSERT_GE(plan.terms, 1U);
        ASSERT_GE(plan.right_bits * static_cast<int>(plan.right_digits), ring);
        std::size_t pairs = 0;
        for (std::size_t p = 0; p < plan.place_count; ++p) {
          ASSERT_EQ(plan.places[p].first, pairs);
          pairs += plan.places[p].count;
        }
        ASSERT_EQ(pairs, plan.pair_count);
      }
      for (std::size_t p = 0; p < words.place_count; ++p) {
        ASSERT_LE(words.terms * words.places[p].count, std::size_t{1} << 12);
      }
      const UInt128 half = kOne << (doubles.right_bits - 1);
      const UInt128 left = doubles.left_digits == 1 ? bound : half;
      for (std::size_t p = 0; p < doubles.place_count; ++p) {
        ASSERT_TRUE(left * half * doubles.terms * doubles.places[p].count <= kOne << 53) << bits << ", " << ring;
      }
    }
  }
}

}  // namespace
}  // namespace blindfl::dense_product_test
