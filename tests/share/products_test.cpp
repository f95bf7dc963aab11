#include "blindfl/share/products.h"

#include <gmock/gmock.h>
#include <gmp.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/base/random.h"

namespace blindfl::products_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Kind = IntMatrix::Kind;

constexpr std::int64_t kLargest = std::int64_t{1} << 62;
constexpr UInt128 kHalf = static_cast<UInt128>(1) << 127;
constexpr UInt128 kAllOnes = ~static_cast<UInt128>(0);

// An integer without a limit: the other way to compute the same.
class BigInteger {
 public:
  BigInteger() { mpz_init(z_); }
  BigInteger(const BigInteger&) = delete;
  BigInteger& operator=(const BigInteger&) = delete;
  ~BigInteger() { mpz_clear(z_); }

  void add_product(std::int64_t x, UInt128 m) {
    static_assert(sizeof(long) == sizeof(std::int64_t));
    BigInteger factor;
    mpz_import(factor.z_, 1, -1, sizeof m, 0, 0, &m);
    BigInteger left;
    mpz_set_si(left.z_, x);
    mpz_addmul(z_, left.z_, factor.z_);
  }

  [[nodiscard]] UInt128 modulo_2_to_128() const {
    BigInteger rest;
    mpz_fdiv_r_2exp(rest.z_, z_, 128);
    UInt128 result = 0;
    mpz_export(&result, nullptr, -1, sizeof result, 0, 0, rest.z_);
    return result;
  }

 private:
  mpz_t z_;
};

ShareMatrix reference_product(const IntMatrix& x, const ShareMatrix& m, bool transposed) {
  const std::vector<std::int64_t> left = x.to_dense();
  const std::size_t rows = transposed ? x.cols() : x.rows();
  const std::size_t inner = transposed ? x.rows() : x.cols();
  ShareMatrix out(rows, m.cols(), x.scale() + m.scale());
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < m.cols(); ++c) {
      BigInteger sum;
      for (std::size_t i = 0; i < inner; ++i) {
        sum.add_product(left[transposed ? i * x.cols() + r : r * x.cols() + i], m.row(i)[c]);
      }
      out.row(r)[c] = sum.modulo_2_to_128();
    }
  }
  return out;
}

std::int64_t random_integer(SeededRandom& random) {
  switch (random.below(6)) {
    case 0:
      return kLargest;
    case 1:
      return -kLargest;
    case 2:
      return -1;
    case 3:
      return static_cast<std::int64_t>(random.below(100));
    default:
      return static_cast<std::int64_t>(random.below(2 * std::uint64_t{kLargest} + 1)) - kLargest;
  }
}

UInt128 random_element(SeededRandom& random) {
  const UInt128 any = static_cast<UInt128>(random.next_u64()) << 64 | random.next_u64();
  switch (random.below(6)) {
    case 0:
      return kAllOnes;
    case 1:
      return kHalf;
    case 2:
      return kHalf - 1;
    default:
      return any;
  }
}

IntMatrix random_matrix(Kind kind, std::size_t rows, std::size_t cols, SeededRandom& random) {
  std::vector<std::int64_t> values;
  std::vector<IntMatrix::Column> columns;
  std::vector<std::size_t> starts = {0};
  for (std::size_t r = 0; r < rows; ++r) {
    const std::uint64_t one = random.below(cols + 1);
    if (kind == Kind::kOneHot) {
      columns.push_back(one == cols ? IntMatrix::kNoColumn : static_cast<IntMatrix::Column>(one));
      continue;
    }
    for (std::size_t c = 0; c < cols; ++c) {
      if (kind == Kind::kCsr && random.below(3) != 0) continue;
      columns.push_back(static_cast<IntMatrix::Column>(c));
      values.push_back(random_integer(random));
    }
    starts.push_back(columns.size());
  }
  switch (kind) {
    case Kind::kDense:
      return IntMatrix::dense(rows, cols, values, 9, kLargest);
    case Kind::kCsr:
      return IntMatrix::csr(rows, cols, starts, columns, values, 9, kLargest);
    case Kind::kOneHot:
      return IntMatrix::one_hot(cols, columns);
  }
  return {};
}

ShareMatrix random_ring_matrix(std::size_t rows, std::size_t cols, SeededRandom& random) {
  ShareMatrix m(rows, cols, 20);
  for (UInt128& v : m.values()) v = random_element(random);
  return m;
}

class ProductOf : public ::testing::TestWithParam<std::tuple<Kind, std::size_t>> {
 protected:
  Kind kind() const { return std::get<0>(GetParam()); }
  ThreadPool pool_{std::get<1>(GetParam())};
  SeededRandom random_{1};
};

std::string name(const ::testing::TestParamInfo<ProductOf::ParamType>& info) {
  const auto [kind, threads] = info.param;
  const std::string matrix = kind == Kind::kDense ? "Dense" : kind == Kind::kCsr ? "Csr" : "OneHot";
  return matrix + "With" + std::to_string(threads) + "Threads";
}

INSTANTIATE_TEST_SUITE_P(Matrices, ProductOf,
                         ::testing::Combine(::testing::Values(Kind::kDense, Kind::kCsr, Kind::kOneHot),
                                            ::testing::Values(1, 3)),
                         name);

struct Shape {
  std::size_t rows;
  std::size_t inner;
  std::size_t cols;
};
// The last is large enough for several threads to take part.
const std::vector<Shape> kShapes = {{1, 1, 1}, {0, 3, 2}, {3, 0, 2}, {3, 2, 0},  {0, 0, 0},
                                    {1, 7, 5}, {7, 1, 5}, {7, 5, 1}, {4, 6, 12}, {60, 30, 9}};

TEST_P(ProductOf, IsThatOfTheIntegersModulo2To128) {
  for (const auto& [rows, inner, cols] : kShapes) {
    const IntMatrix x = random_matrix(kind(), rows, inner, random_);
    const ShareMatrix m = random_ring_matrix(inner, cols, random_);
    const ShareMatrix product = multiply(x, m, pool_);
    EXPECT_TRUE(product == reference_product(x, m, false)) << rows << " x " << inner << " x " << cols;
    EXPECT_TRUE(product == multiply(x, m)) << rows << " x " << inner << " x " << cols;
  }
}

TEST_P(ProductOf, IsThatOfTheIntegersModulo2To128WhenTransposed) {
  for (const auto& [cols_of_x, rows_of_x, cols] : kShapes) {
    const IntMatrix x = random_matrix(kind(), rows_of_x, cols_of_x, random_);
    const ShareMatrix m = random_ring_matrix(rows_of_x, cols, random_);
    const ShareMatrix product = multiply_transposed(x, m, pool_);
    EXPECT_TRUE(product == reference_product(x, m, true)) << rows_of_x << " x " << cols_of_x << " x " << cols;
    EXPECT_TRUE(product == multiply_transposed(x, m)) << rows_of_x << " x " << cols_of_x << " x " << cols;
    EXPECT_TRUE(product == multiply(x.transpose(), m)) << rows_of_x << " x " << cols_of_x << " x " << cols;
  }
}

// Those of up to 64 bits are multiplied in numbers of 64.
TEST_P(ProductOf, IsThatOfTheIntegersInANarrowerRing) {
  for (const int ring_bits : {1, 38, 58, 63, 64, 65, 100, 127}) {
    for (const auto& [rows, inner, cols] : kShapes) {
      const ShareMatrix wide = random_ring_matrix(inner, cols, random_);
      const ShareMatrix m = narrowed(wide, ring_bits);
      const IntMatrix x = random_matrix(kind(), rows, inner, random_);
      EXPECT_TRUE(multiply(x, m, pool_) == narrowed(reference_product(x, wide, false), ring_bits))
          << ring_bits << " bits, " << rows << " x " << inner << " x " << cols;
      const IntMatrix y = random_matrix(kind(), inner, rows, random_);
      EXPECT_TRUE(multiply_transposed(y, m, pool_) == narrowed(reference_product(y, wide, true), ring_bits))
          << ring_bits << " bits, " << rows << " x " << inner << " x " << cols << ", transposed";
    }
  }
}

TEST_P(ProductOf, RefusesShapesThatDoNotFit) {
  const IntMatrix x = random_matrix(kind(), 4, 3, random_);
  EXPECT_THAT([&] { (void)multiply(x, ShareMatrix(4, 5, 0), pool_); },
              ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("4 x 3"), HasSubstr("4 x 5"))));
  EXPECT_THAT([&] { (void)multiply_transposed(x, ShareMatrix(3, 5, 0), pool_); },
              ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("4 x 3"), HasSubstr("3 x 5"))));
  EXPECT_THROW((void)multiply(x, ShareMatrix(4, 5, 0)), InvalidArgument);
  EXPECT_THROW((void)multiply_transposed(x, ShareMatrix(3, 5, 0)), InvalidArgument);
}

TEST_P(ProductOf, IsALinearFunctionOfTheShares) {
  Random random;
  const IntMatrix x = random_matrix(kind(), 6, 5, random_);
  const ShareMatrix secret = random_ring_matrix(5, 4, random_);
  const auto [mine, theirs] = split(secret, random);
  EXPECT_TRUE(open(multiply(x, mine, pool_), multiply(x, theirs, pool_)) == multiply(x, secret));
}

TEST(Product, IsRightForExtremeFactors) {
  for (const std::int64_t x : {kLargest, -kLargest, kLargest - 1, std::int64_t{1}, std::int64_t{-1}, std::int64_t{0}}) {
    for (const UInt128 m : {kAllOnes, kHalf, kHalf - 1, kHalf + 1, static_cast<UInt128>(0), static_cast<UInt128>(1),
                            static_cast<UInt128>(1) << 64, (static_cast<UInt128>(1) << 64) - 1}) {
      const IntMatrix left = IntMatrix::dense(1, 1, {x}, 0, kLargest);
      ShareMatrix right(1, 1, 0);
      right.values()[0] = m;
      BigInteger expected;
      expected.add_product(x, m);
      EXPECT_TRUE(multiply(left, right).values()[0] == expected.modulo_2_to_128()) << x << ", high " << high64(m);
      EXPECT_TRUE(multiply_transposed(left, right).values()[0] == expected.modulo_2_to_128()) << x;
    }
  }
}

TEST(Product, AddsTheScales) {
  const IntMatrix x = IntMatrix::dense(1, 1, {2}, 7, 10);
  const ShareMatrix m(1, 1, 30);
  EXPECT_EQ(multiply(x, m).scale(), 37);
  EXPECT_EQ(multiply_transposed(x, m).scale(), 37);
}

TEST(ToRing, KeepsTheIntegersAndTheirSigns) {
  const auto element = [](std::int64_t v) { return static_cast<UInt128>(static_cast<Int128>(v)); };
  const IntMatrix dense = IntMatrix::dense(2, 2, {1, -1, kLargest, -kLargest}, 11, kLargest);
  const ShareMatrix ring = to_ring(dense);
  EXPECT_EQ(ring.rows(), 2U);
  EXPECT_EQ(ring.cols(), 2U);
  EXPECT_EQ(ring.scale(), 11);
  EXPECT_TRUE(ring.values()[0] == 1);
  EXPECT_TRUE(ring.values()[1] == kAllOnes);
  EXPECT_TRUE(ring.values()[2] == static_cast<UInt128>(1) << 62);
  EXPECT_TRUE(ring.values()[3] == 0 - (static_cast<UInt128>(1) << 62));

  SeededRandom random(2);
  for (const Kind kind : {Kind::kDense, Kind::kCsr, Kind::kOneHot}) {
    const IntMatrix x = random_matrix(kind, 5, 4, random);
    const std::vector<std::int64_t> values = x.to_dense();
    const ShareMatrix in_ring = to_ring(x);
    ASSERT_EQ(in_ring.values().size(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_TRUE(in_ring.values()[i] == element(values[i])) << i;
  }
}

TEST(ProductBits, AreExactUpTo127AndThen128) {
  const auto power = [](int n) { return static_cast<UInt128>(1) << n; };
  struct Case {
    std::size_t terms;
    UInt128 left;
    UInt128 right;
    int expected;
  };
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  const std::vector<Case> cases = {
      {0, 5, 5, 0},
      {5, 0, 5, 0},
      {5, 5, 0, 0},
      {1, 1, 1, 1},
      {1, 1, 2, 2},
      {3, 5, 17, 8},  // 255
      {2, 8, 16, 9},  // 256
      {1, power(62), power(64), 127},
      {1, power(63), power(64), 128},
      {1, power(63) - 1, power(64), 127},
      {1, 1, power(127) - 1, 127},
      {1, power(127) - 1, 1, 127},
      {1, power(127), 1, 128},
      {1, power(127) + 1, 1, 128},
      {1, kAllOnes, 1, 128},
      {1, kAllOnes, kAllOnes, 128},
      {2, power(126), 1, 128},
      {2, power(126) - 1, 1, 127},
      {3, power(63), power(62), 127},
      {4, power(63), power(62), 128},
      // Would be a small number modulo 2^128.
      {1, power(64), power(64), 128},
      {2, power(127), 1, 128},
      {4, power(64), power(62), 128},
      {kMost, 1, 1, 64},
      {kMost, power(63), 1, 127},
      {kMost, power(63), 2, 128},
      {kMost, kAllOnes, kAllOnes, 128},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    EXPECT_EQ(product_bits(c.terms, c.left, c.right), c.expected) << "case " << i;
    EXPECT_EQ(product_bits(c.terms, c.right, c.left), c.expected) << "case " << i << ", the other way round";
  }
}

TEST(ProductBits, BoundWhatAProductCanReach) {
  constexpr std::int64_t kBound = 12345;
  constexpr std::size_t kTerms = 17;
  const IntMatrix x = IntMatrix::dense(1, kTerms, std::vector<std::int64_t>(kTerms, -kBound), 0, kBound);
  ShareMatrix m(kTerms, 1, 0);
  for (UInt128& v : m.values()) v = 6789;
  const UInt128 magnitude = 0 - multiply(x, m).values()[0];
  EXPECT_EQ(product_bits(kTerms, kBound, 6789), bit_length(magnitude));
}

}  // namespace
}  // namespace blindfl::products_test
