#include "blindfl/share/share_matrix.h"

#include <gmock/gmock.h>
#include <gmp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"

namespace blindfl::share_matrix_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

constexpr UInt128 kOne = 1;
constexpr UInt128 kAllOnes = ~static_cast<UInt128>(0);
constexpr UInt128 kMost = kAllOnes >> 1;  // 2^127 - 1
constexpr UInt128 kLeast = kOne << 127;   // -2^127
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

ShareMatrix matrix(std::size_t rows, std::size_t cols, int scale, const std::vector<UInt128>& values) {
  ShareMatrix m(rows, cols, scale);
  std::ranges::copy(values, m.values().begin());
  return m;
}

ShareMatrix single(Int128 value, int scale) {
  return matrix(1, 1, scale, {static_cast<UInt128>(value)});
}

Int128 as_signed(const ShareMatrix& m) {
  return static_cast<Int128>(m.values()[0]);
}

// floor(x / 2^k + 1/2), for small x.
Int128 rounded(Int128 x, int k) {
  return (x + (static_cast<Int128>(1) << (k - 1))) >> k;
}

std::string text(Int128 x) {
  return (x < 0 ? "-" : "") + std::to_string(static_cast<double>(x < 0 ? -x : x));
}

// 255 degrees of freedom: about 255, with a deviation of 23.
double chi_square(std::span<const std::byte> bytes, std::size_t first = 0, std::size_t step = 1) {
  std::array<double, 256> counts{};
  double total = 0;
  for (std::size_t i = first; i < bytes.size(); i += step, ++total) ++counts[static_cast<std::size_t>(bytes[i])];
  double sum = 0;
  for (const double count : counts) sum += (count - total / 256) * (count - total / 256) / (total / 256);
  return sum;
}

TEST(ShareMatrix, IsZeroAtFirst) {
  const ShareMatrix m(2, 3, 5);
  EXPECT_EQ(m.rows(), 2U);
  EXPECT_EQ(m.cols(), 3U);
  EXPECT_EQ(m.scale(), 5);
  EXPECT_TRUE(std::ranges::all_of(m.values(), [](UInt128 v) { return v == 0; }));
  EXPECT_EQ(m.values().size(), 6U);
  EXPECT_TRUE(ShareMatrix().values().empty());
}

TEST(ShareMatrix, GivesOutRows) {
  ShareMatrix m = matrix(2, 2, 0, {1, 2, 3, 4});
  m.row(1)[0] = 9;
  EXPECT_TRUE(m == matrix(2, 2, 0, {1, 2, 9, 4}));
  const ShareMatrix& constant = m;
  EXPECT_EQ(constant.row(1).size(), 2U);
  EXPECT_TRUE(constant.row(0)[1] == 2);
}

TEST(ShareMatrix, AddsAndSubtractsModulo2To128) {
  const ShareMatrix a = matrix(1, 3, 4, {kAllOnes, kLeast, 5});
  const ShareMatrix b = matrix(1, 3, 4, {1, kLeast, 7});
  EXPECT_TRUE(a + b == matrix(1, 3, 4, {0, 0, 12}));
  EXPECT_TRUE(a - b == matrix(1, 3, 4, {kAllOnes - 1, 0, kAllOnes - 1}));
  EXPECT_TRUE((a + b) - b == a);
}

TEST(ShareMatrix, RefusesToAddOtherShapesAndScales) {
  const ShareMatrix a(2, 3, 4);
  for (const ShareMatrix& other : {ShareMatrix(3, 2, 4), ShareMatrix(2, 2, 4), ShareMatrix(1, 6, 4), ShareMatrix()}) {
    const std::string shape = std::to_string(other.rows()) + " x " + std::to_string(other.cols());
    EXPECT_THAT([&] { (void)(a + other); },
                ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("2 x 3"), HasSubstr(shape))));
    EXPECT_THROW((void)(a - other), InvalidArgument);
    EXPECT_THROW((void)open(a, other), InvalidArgument);
  }
  const ShareMatrix scaled(2, 3, 51);
  EXPECT_THAT([&] { (void)(a + scaled); }, ThrowsMessage<InvalidArgument>(HasSubstr("scales 4 and 51")));
  EXPECT_THROW((void)(a - scaled), InvalidArgument);
}

TEST(ShareMatrix, DiffersByShapeScaleOrValue) {
  const ShareMatrix m = matrix(1, 2, 3, {1, 2});
  EXPECT_TRUE(m == matrix(1, 2, 3, {1, 2}));
  EXPECT_FALSE(m == matrix(1, 2, 4, {1, 2}));
  EXPECT_FALSE(m == matrix(2, 1, 3, {1, 2}));
  EXPECT_FALSE(m == matrix(1, 2, 3, {1, kOne << 100}));
}

TEST(Split, IsUndoneByOpen) {
  Random random;
  for (const auto& [rows, cols] : std::vector<std::pair<std::size_t, std::size_t>>{{0, 0}, {3, 0}, {1, 1}, {5, 7}}) {
    ShareMatrix value = random_share(rows, cols, 12, random);
    if (!value.values().empty()) value.values()[0] = kLeast;
    const auto [mine, theirs] = split(value, random);
    EXPECT_TRUE(open(mine, theirs) == value);
    EXPECT_TRUE(open(theirs, mine) == value);
    EXPECT_EQ(mine.scale(), 12);
    EXPECT_EQ(theirs.rows(), rows);
    EXPECT_EQ(theirs.cols(), cols);
  }
}

TEST(Split, IsAnotherOneEachTime) {
  Random random;
  const ShareMatrix value(1, 4, 0);
  EXPECT_FALSE(split(value, random).first == split(value, random).first);
}

TEST(Split, MakesEachShareUniformWhateverTheSecret) {
  Random random;
  for (const UInt128 secret : {UInt128{0}, kOne, kAllOnes, kLeast}) {
    ShareMatrix value(128, 128, 0);
    std::ranges::fill(value.values(), secret);
    const auto [mine, theirs] = split(value, random);
    for (const ShareMatrix* share : {&mine, &theirs}) {
      const auto bytes = std::as_bytes(share->values());
      EXPECT_LT(chi_square(bytes), 530);
      // Each of the 16 bytes of a value, by itself.
      for (std::size_t i = 0; i < sizeof(UInt128); ++i) EXPECT_LT(chi_square(bytes, i, sizeof(UInt128)), 530) << i;
    }
  }
}

TEST(Transpose, PutsRowsWhereColumnsWere) {
  const ShareMatrix m = matrix(2, 3, 7, {1, kLeast, 3, kAllOnes, 5, kMost});
  EXPECT_TRUE(transpose(m) == matrix(3, 2, 7, {1, kAllOnes, kLeast, 5, 3, kMost}));
  EXPECT_TRUE(transpose(transpose(m)) == m);
}

TEST(Transpose, TakesShapesWithoutValuesAndSingleRows) {
  EXPECT_TRUE(transpose(ShareMatrix(0, 4, 3)) == ShareMatrix(4, 0, 3));
  EXPECT_TRUE(transpose(ShareMatrix()) == ShareMatrix());
  EXPECT_TRUE(transpose(matrix(1, 3, 0, {1, 2, 3})) == matrix(3, 1, 0, {1, 2, 3}));
}

TEST(Transpose, OfSharesIsSharesOfTheTranspose) {
  Random random;
  const ShareMatrix value = random_share(5, 3, 12, random);
  const auto [mine, theirs] = split(value, random);
  EXPECT_TRUE(open(transpose(mine), transpose(theirs)) == transpose(value));
}

TEST(SelectColumns, TakesThoseAndNoOthers) {
  const ShareMatrix m = matrix(2, 4, 9, {1, 2, kLeast, 4, 5, 6, kAllOnes, 8});
  EXPECT_TRUE(select_columns(m, 1, 2) == matrix(2, 2, 9, {2, kLeast, 6, kAllOnes}));
  EXPECT_TRUE(select_columns(m, 3, 1) == matrix(2, 1, 9, {4, 8}));
  EXPECT_TRUE(select_columns(m, 0, 4) == m);
  EXPECT_TRUE(select_columns(m, 4, 0) == ShareMatrix(2, 0, 9));
  EXPECT_TRUE(select_columns(ShareMatrix(0, 4, 9), 1, 2) == ShareMatrix(0, 2, 9));
}

TEST(SelectColumns, RefusesWhatIsNotThere) {
  constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max();
  const ShareMatrix m(2, 4, 0);
  EXPECT_THAT([&] { (void)select_columns(m, 3, 2); },
              ThrowsMessage<InvalidArgument>(HasSubstr("2 columns from 3 on, of 4")));
  for (const auto& [first, count] : std::vector<std::pair<std::size_t, std::size_t>>{
           {0, 5}, {4, 1}, {5, 0}, {1, kHuge}, {kHuge, 1}, {kHuge, kHuge}, {2, kHuge - 1}}) {
    EXPECT_THROW((void)select_columns(m, first, count), InvalidArgument) << first << ", " << count;
  }
}

TEST(PlaceColumns, OverwritesThoseAndNoOthers) {
  ShareMatrix to = matrix(2, 4, 9, {1, 2, 3, 4, 5, 6, 7, 8});
  place_columns(to, 1, matrix(2, 2, 9, {kLeast, 0, kAllOnes, 20}));
  EXPECT_TRUE(to == matrix(2, 4, 9, {1, kLeast, 0, 4, 5, kAllOnes, 20, 8}));
  place_columns(to, 3, matrix(2, 1, 9, {30, 40}));
  EXPECT_TRUE(to == matrix(2, 4, 9, {1, kLeast, 0, 30, 5, kAllOnes, 20, 40}));
  const ShareMatrix before = to;
  place_columns(to, 4, ShareMatrix(2, 0, 9));
  EXPECT_TRUE(to == before);
}

TEST(PlaceColumns, UndoesSelectColumns) {
  Random random;
  const ShareMatrix m = random_share(3, 7, 4, random);
  ShareMatrix rebuilt(3, 7, 4);
  for (const auto& [first, count] : std::vector<std::pair<std::size_t, std::size_t>>{{0, 3}, {3, 1}, {4, 3}}) {
    place_columns(rebuilt, first, select_columns(m, first, count));
  }
  EXPECT_TRUE(rebuilt == m);
}

TEST(PlaceColumns, RefusesWhatDoesNotFitAndChangesNothing) {
  constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max();
  ShareMatrix to = matrix(2, 3, 5, {1, 2, 3, 4, 5, 6});
  const ShareMatrix before = to;
  EXPECT_THAT(
      [&] { place_columns(to, 2, ShareMatrix(2, 2, 5)); },
      ThrowsMessage<InvalidArgument>(HasSubstr("2 x 2 at scale 5 does not fit at column 2 of 2 x 3 at scale 5")));
  EXPECT_THROW(place_columns(to, 0, ShareMatrix(2, 4, 5)), InvalidArgument);
  EXPECT_THROW(place_columns(to, 4, ShareMatrix(2, 0, 5)), InvalidArgument);
  EXPECT_THROW(place_columns(to, kHuge, ShareMatrix(2, 1, 5)), InvalidArgument);
  EXPECT_THROW(place_columns(to, 0, ShareMatrix(1, 2, 5)), InvalidArgument) << "fewer rows";
  EXPECT_THROW(place_columns(to, 0, ShareMatrix(3, 2, 5)), InvalidArgument) << "more rows";
  EXPECT_THROW(place_columns(to, 0, ShareMatrix(2, 2, 6)), InvalidArgument) << "another scale";
  EXPECT_TRUE(to == before);
}

TEST(Rescale, MovesTheSecretByAtMostOneUnit) {
  Random random;
  SeededRandom values(1);
  for (int k = 1; k <= 60; ++k) {
    // Secrets of up to 80 bits: one in 2^47 goes wrong.
    const std::size_t count = 200;
    ShareMatrix secret(1, count, 60);
    for (UInt128& v : secret.values()) {
      const UInt128 any = static_cast<UInt128>(values.next_u64()) << 64 | values.next_u64();
      const UInt128 magnitude = any >> (48 + values.below(80));
      v = values.below(2) == 0 ? magnitude : 0 - magnitude;
    }
    const auto [mine, theirs] = split(secret, random);
    const ShareMatrix result = open(rescale(mine, 60 - k), rescale(theirs, 60 - k));
    ASSERT_EQ(result.scale(), 60 - k);
    for (std::size_t i = 0; i < count; ++i) {
      const Int128 expected = rounded(static_cast<Int128>(secret.values()[i]), k);
      const Int128 difference = static_cast<Int128>(result.values()[i]) - expected;
      ASSERT_TRUE(-1 <= difference && difference <= 1) << "by " << k << " bits, off by " << text(difference);
    }
  }
}

TEST(Rescale, IsRightAtTheEdgesOfTheRing) {
  struct Case {
    UInt128 mine;
    Int128 secret;
  };
  const Int128 big = static_cast<Int128>(1) << 80;
  // The second share stays on this side of 2^127 in each of them: no wrap, so no excuse.
  const std::vector<Case> cases = {{kMost, 0},         {kMost, 1},
                                   {kMost, -1},        {kMost, big},
                                   {kLeast, -1},       {kLeast, -big},
                                   {kLeast, -12345},   {kMost - 5, -6},
                                   {kLeast + 9, 8},    {kLeast + 1, -big},
                                   {kOne << 126, big}, {0 - (kOne << 126), -big},
                                   {kAllOnes, 0},      {kAllOnes, -(1 << 20)}};
  for (const Case& c : cases) {
    const ShareMatrix mine = matrix(1, 1, 60, {c.mine});
    const ShareMatrix theirs = single(c.secret, 60) - mine;
    for (int k = 1; k <= 60; ++k) {
      const Int128 result = as_signed(open(rescale(mine, 60 - k), rescale(theirs, 60 - k)));
      const Int128 difference = result - rounded(c.secret, k);
      EXPECT_TRUE(-1 <= difference && difference <= 1)
          << text(c.secret) << " by " << k << " bits, off by " << text(difference);
    }
  }
}

TEST(Rescale, RoundsASingleShareExactly) {
  struct Case {
    UInt128 share;
    int bits;
    UInt128 expected;
  };
  const std::vector<Case> cases = {
      {5, 1, 3},
      {5, 2, 1},
      {6, 2, 2},
      {7, 2, 2},
      {kAllOnes, 1, 0},             // -1/2
      {kAllOnes - 2, 1, kAllOnes},  // -3/2
      {kAllOnes - 5, 2, kAllOnes},  // -6/4
      {kMost, 1, kOne << 126},      // would overflow if the half were added first
      {kMost, 60, kOne << 67},
      {kMost, 126, 2},
      {kMost, 127, 1},
      {kLeast, 1, kAllOnes << 126},
      {kLeast, 60, kAllOnes << 67},
      {kLeast, 127, kAllOnes},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    EXPECT_TRUE(rescale(matrix(1, 1, c.bits, {c.share}), 0).values()[0] == c.expected) << "case " << i;
  }
}

TEST(Rescale, IsExactWhenOneShareIsZero) {
  SeededRandom values(2);
  for (int k = 1; k <= 60; ++k) {
    const ShareMatrix zero(1, 1, k);
    EXPECT_TRUE(rescale(zero, 0) == ShareMatrix(1, 1, 0));
    for (int i = 0; i < 50; ++i) {
      const Int128 secret = static_cast<Int128>(values.next_u64()) - (static_cast<Int128>(1) << 63);
      EXPECT_TRUE(as_signed(open(rescale(single(secret, k), 0), rescale(zero, 0))) == rounded(secret, k));
      EXPECT_TRUE(as_signed(open(rescale(zero, 0), rescale(single(secret, k), 0))) == rounded(secret, k));
    }
  }
}

TEST(Rescale, DoesNotDrift) {
  Random random;
  constexpr int kBits = 20;
  constexpr std::size_t kSplits = 20000;
  const Int128 unit = 1 << kBits;
  for (const Int128 secret :
       {Int128{0}, Int128{1}, Int128{-1}, unit / 2, -unit / 2, 1000 * unit + 12345, -1000 * unit - 12345, 7 * unit}) {
    ShareMatrix value(1, kSplits, kBits);
    std::ranges::fill(value.values(), static_cast<UInt128>(secret));
    const auto [mine, theirs] = split(value, random);
    const ShareMatrix result = open(rescale(mine, 0), rescale(theirs, 0));
    double sum = 0;
    for (const UInt128 v : result.values()) {
      sum += static_cast<double>((static_cast<Int128>(v) << kBits) - secret) / static_cast<double>(unit);
    }
    // One error is at most 1 and the mean's deviation below 0.004. Flooring the shares would give about -1, and
    // flooring one of them -1/2.
    EXPECT_NEAR(sum / kSplits, 0, 0.04) << text(secret);
  }
}

TEST(Rescale, IsExactUpwards) {
  Random random;
  const ShareMatrix secret = matrix(1, 3, 10, {5, 0 - UInt128{7}, kOne << 60});
  const auto [mine, theirs] = split(secret, random);
  const ShareMatrix result = open(rescale(mine, 40), rescale(theirs, 40));
  EXPECT_TRUE(result == matrix(1, 3, 40, {UInt128{5} << 30, 0 - (UInt128{7} << 30), kOne << 90}));
  EXPECT_TRUE(rescale(mine, 10) == mine);
}

TEST(Rescale, RefusesToGoTooFar) {
  const ShareMatrix share(1, 1, 0);
  EXPECT_THROW((void)rescale(share, 128), InvalidArgument);
  EXPECT_THROW((void)rescale(share, -128), InvalidArgument);
  EXPECT_NO_THROW((void)rescale(share, 127));
  EXPECT_NO_THROW((void)rescale(share, -127));
}

TEST(PublicFactor, IsNearWhatWasAsked) {
  SeededRandom random(3);
  for (int i = 0; i < 2000; ++i) {
    const double x = std::ldexp(2 * random.uniform() - 1, static_cast<int>(random.below(80)) - 40);
    const PublicFactor factor(x);
    // Half a unit of a mantissa of at least 2^23.
    ASSERT_LE(std::abs(factor.value() - x), std::abs(x) * 0x1p-24) << x;
    ASSERT_LE(std::abs(factor.mantissa), std::int64_t{1} << PublicFactor::kBits) << x;
    ASSERT_NE(factor.mantissa % 2, 0) << x;
  }
}

TEST(PublicFactor, SpendsNoMoreBitsThanItNeeds) {
  struct Case {
    double x;
    std::int64_t mantissa;
    int exponent;
  };
  const std::vector<Case> cases = {
      {1, 1, 0},
      {2, 1, -1},
      {0.5, 1, 1},
      {-0.25, -1, 2},
      {0x1p40, 1, -40},
      {-0x1p40, -1, -40},
      {0x1p-30, 1, 30},
      {3, 3, 0},
      {-0.75, -3, 2},
      {0, 0, 0},
      {-0.0, 0, 0},
      // 24 ones fit; a 25th rounds up to a power of two.
      {0x1.fffffep-1, (1 << 24) - 1, 24},
      {0x1.ffffffp-1, 1, 0},
      // A half away from zero, in both directions.
      {1 + 0x1p-24, (1 << 23) + 1, 23},
      {-1 - 0x1p-24, -(1 << 23) - 1, 23},
  };
  for (const Case& c : cases) {
    const PublicFactor factor(c.x);
    EXPECT_EQ(factor.mantissa, c.mantissa) << c.x;
    EXPECT_EQ(factor.exponent, c.exponent) << c.x;
  }
  EXPECT_EQ(PublicFactor(0.05).value(), static_cast<double>(0.05F)) << "24 bits: a float's";
}

TEST(PublicFactor, TakesNoRoom) {
  // A share of 127 bits times a factor of 24: exact before it is shifted, so that only the result must fit.
  const auto largest = static_cast<UInt128>(1) << 126;
  ShareMatrix share(1, 2, 40);
  share.values()[0] = largest + 12345;
  share.values()[1] = 0 - largest - 12345;
  const PublicFactor factor(0x1.fffffep-1);
  const ShareMatrix product = multiply_public(share, factor, 40);
  // (2^126 + 12345) (1 - 2^-24), rounded.
  const UInt128 wanted = largest + 12345 - (static_cast<UInt128>(1) << 102);
  EXPECT_TRUE(product.values()[0] == wanted);
  EXPECT_TRUE(product.values()[1] == 0 - wanted);
  for (const int scale : {20, 0, -40}) {
    const ShareMatrix coarse = multiply_public(share, factor, scale);
    const auto up = static_cast<Int128>(coarse.values()[0]);
    EXPECT_NEAR(static_cast<double>(up) / std::ldexp(1 - 0x1p-24, 126 - 40 + scale), 1, 0x1p-40) << scale;
    EXPECT_NEAR(static_cast<double>(static_cast<Int128>(coarse.values()[1])), -static_cast<double>(up), 1) << scale;
  }
}

TEST(PublicFactor, RefusesWhatIsNotFiniteOrTooLarge) {
  for (const double x : {kNan, kInfinity, -kInfinity, std::nextafter(0x1p40, kInfinity), -0x1p41, 1e300}) {
    EXPECT_THROW(PublicFactor{x}, InvalidArgument) << x;
  }
}

TEST(MultiplyPublic, OpensToTheProductWithinOneUnit) {
  Random random;
  SeededRandom values(4);
  for (const double x : {0.05, -0.05, 0.9, 1.0 / 128, -1.0 / 3, 3.0, 1000.1, 1e-6, 0.0, -1.0}) {
    const PublicFactor factor(x);
    for (const int scale : {16, 24, 32, 40}) {
      const std::size_t count = 50;
      ShareMatrix secret(1, count, 32);
      for (UInt128& v : secret.values()) {
        v = static_cast<UInt128>(static_cast<Int128>(values.below(std::uint64_t{1} << 50)) - (Int128{1} << 49));
      }
      const auto [mine, theirs] = split(secret, random);
      const ShareMatrix result = open(multiply_public(mine, factor, scale), multiply_public(theirs, factor, scale));
      ASSERT_EQ(result.scale(), scale);
      const int k = 32 + factor.exponent - scale;
      for (std::size_t i = 0; i < count; ++i) {
        const Int128 product = static_cast<Int128>(secret.values()[i]) * factor.mantissa;
        const auto opened = static_cast<Int128>(result.values()[i]);
        if (k <= 0) {
          ASSERT_TRUE(opened == product * (Int128{1} << -k)) << x << " at scale " << scale;
        } else {
          const Int128 difference = opened * (Int128{1} << k) - product;
          const Int128 unit = Int128{1} << k;
          ASSERT_TRUE(-unit <= difference && difference <= unit) << x << " at scale " << scale;
        }
      }
    }
  }
}

TEST(MultiplyPublic, IsExactForPowersOfTwoUpwards) {
  const ShareMatrix share = matrix(1, 2, 8, {kAllOnes - 4, 12345});
  EXPECT_TRUE(multiply_public(share, PublicFactor(1), 8) == share);
  EXPECT_TRUE(multiply_public(share, PublicFactor(4), 8) ==
              matrix(1, 2, 8, {(kAllOnes - 4) << 2, UInt128{12345} << 2}));
  EXPECT_TRUE(multiply_public(share, PublicFactor(-1), 8) == ShareMatrix(1, 2, 8) - share);
  EXPECT_TRUE(multiply_public(share, PublicFactor(0), 8) == ShareMatrix(1, 2, 8));
  EXPECT_TRUE(multiply_public(share, PublicFactor(0.5), 9) == matrix(1, 2, 9, {kAllOnes - 4, 12345}));
}

TEST(MultiplyPublic, IsZeroForAFactorTooSmallForTheScale) {
  const ShareMatrix share = matrix(1, 2, 16, {kAllOnes, UInt128{1} << 127});
  for (const double factor : {0x1p-200, 0x1.8p-150, 1e-45}) {
    EXPECT_TRUE(multiply_public(share, PublicFactor(factor), 16) == ShareMatrix(1, 2, 16)) << factor;
  }
}

// round(x * 2^scale), halves away from zero, by exact rationals.
Int128 reference_encoding(double x, int scale) {
  mpq_t q;
  mpq_init(q);
  mpq_set_d(q, std::abs(x));
  if (scale >= 0) mpq_mul_2exp(q, q, static_cast<mp_bitcnt_t>(scale));
  if (scale < 0) mpq_div_2exp(q, q, static_cast<mp_bitcnt_t>(-scale));
  mpz_t z;
  mpz_init(z);
  // floor((2 n + d) / (2 d))
  mpz_mul_2exp(z, mpq_numref(q), 1);
  mpz_add(z, z, mpq_denref(q));
  mpz_mul_2exp(mpq_denref(q), mpq_denref(q), 1);
  mpz_fdiv_q(z, z, mpq_denref(q));
  UInt128 magnitude = 0;
  EXPECT_LT(mpz_sizeinbase(z, 2), 128U);
  mpz_export(&magnitude, nullptr, -1, sizeof magnitude, 0, 0, z);
  mpz_clear(z);
  mpq_clear(q);
  return x < 0 ? -static_cast<Int128>(magnitude) : static_cast<Int128>(magnitude);
}

TEST(EncodeRing, RoundsExactly) {
  SeededRandom random(5);
  std::vector<double> reals = {0,
                               0.5,
                               1.5,
                               2.5,
                               0.49999999999999994,
                               0x1p52 + 1,
                               0x1p53 - 1,
                               0x1p60,
                               0x1p60 - 0x1p8,
                               0x1p60 + 0x1p9,
                               0.1,
                               1.0 / 3,
                               std::numeric_limits<double>::denorm_min()};
  for (int i = 0; i < 500; ++i) reals.push_back(std::ldexp(random.uniform(), static_cast<int>(random.below(100)) - 39));
  for (std::size_t i = 0, n = reals.size(); i < n; ++i) reals.push_back(-reals[i]);
  for (const int scale : {0, 1, 16, 32, 52, 60, 64}) {
    const ShareMatrix encoded = encode_ring(2, reals.size() / 2, reals, scale, 0x1p61);
    ASSERT_EQ(encoded.rows(), 2U);
    ASSERT_EQ(encoded.scale(), scale);
    for (std::size_t i = 0; i < reals.size(); ++i) {
      ASSERT_TRUE(static_cast<Int128>(encoded.values()[i]) == reference_encoding(reals[i], scale))
          << reals[i] << " at scale " << scale;
    }
  }
}

TEST(EncodeRing, IsUndoneByDecoding) {
  SeededRandom random(6);
  std::vector<double> reals(300);
  for (double& x : reals) x = 2000 * random.uniform() - 1000;
  for (const int scale : {0, 10, 32, 60}) {
    const std::vector<double> decoded = decode_ring(encode_ring(100, 3, reals, scale, 1000));
    ASSERT_EQ(decoded.size(), reals.size());
    for (std::size_t i = 0; i < reals.size(); ++i) {
      ASSERT_LE(std::abs(decoded[i] - reals[i]), std::ldexp(0.5, -scale)) << "scale " << scale;
    }
  }
}

TEST(EncodeRing, TakesValuesUpToTheLargest) {
  const std::vector<double> edges = {2.5, -2.5};
  EXPECT_TRUE(encode_ring(1, 2, edges, 1, 2.5) == matrix(1, 2, 1, {5, 0 - UInt128{5}}));
  EXPECT_TRUE(encode_ring(0, 3, {}, 1, 2.5) == ShareMatrix(0, 3, 1));
  EXPECT_TRUE(encode_ring(3, 0, {}, 1, 2.5) == ShareMatrix(3, 0, 1));
}

TEST(EncodeRing, NamesThePlaceOfABadValueAndNotTheValue) {
  for (const double bad : {kNan, kInfinity, -kInfinity, 777.0, -777.0, 7e77, std::nextafter(32.0, 33.0)}) {
    std::vector<double> reals(12);
    reals[7] = bad;
    EXPECT_THAT([&] { (void)encode_ring(3, 4, reals, 16, 32); },
                ThrowsMessage<DataError>(AllOf(HasSubstr("row 1, column 3"), Not(HasSubstr("7")))))
        << bad;
  }
}

TEST(EncodeRing, RefusesShapesAndRangesThatDoNotFit) {
  const std::vector<double> reals(5);
  EXPECT_THROW((void)encode_ring(2, 3, reals, 0, 1), InvalidArgument);
  EXPECT_THROW((void)encode_ring(5, 1, reals, 100, 0x1p26), InvalidArgument);
  EXPECT_THROW((void)encode_ring(5, 1, reals, 0, kInfinity), InvalidArgument);
  EXPECT_THROW((void)encode_ring(5, 1, reals, 0, kNan), InvalidArgument);
  EXPECT_NO_THROW((void)encode_ring(5, 1, reals, 100, 0x1p25));
}

TEST(DecodeRing, ReadsValuesAsSigned) {
  EXPECT_EQ(decode_ring(matrix(1, 4, 2, {1, kAllOnes, kLeast, kOne << 100})),
            (std::vector<double>{0.25, -0.25, -0x1p125, 0x1p98}));
}

}  // namespace
}  // namespace blindfl::share_matrix_test
