// Matrices of words, and truncation of shares.

#include "blindfl/lab/secureml/words.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "blindfl/base/error.h"
#include "lab/secureml/ways.h"
#include "testing/uniformity.h"

namespace blindfl::lab::secureml::words_test {
namespace {

TEST(Words, MultiplyAsIntegersModulo2To64Do) {
  Random random;
  for (const std::size_t cols : {1U, 4U}) {
    const Words a = random_words(5, 7, random);
    const Words b = random_words(7, cols, random);
    const Words d = random_words(5, cols, random);
    const std::vector<std::uint32_t> all = all_rows(5);
    EXPECT_EQ(multiply(RowsOf{a, all}, b), plain_product(a, b));
    EXPECT_EQ(multiply_transposed(a, d), plain_product(transpose(a), d));
    const std::vector<std::uint32_t> some = {4, 1, 1};
    EXPECT_EQ(multiply(RowsOf{a, some}, b), plain_product(select_rows(a, some), b));
    EXPECT_EQ(multiply_transposed(RowsOf{a, some}, select_rows(d, some)),
              plain_product(transpose(select_rows(a, some)), select_rows(d, some)));
  }
}

TEST(Words, RefuseShapesThatDoNotFit) {
  Words a(2, 3);
  const std::vector<std::uint32_t> rows = {0, 2};
  EXPECT_THROW(a += Words(3, 2), InvalidArgument);
  EXPECT_THROW((void)select_rows(a, rows), InvalidArgument);
  EXPECT_THROW((void)multiply(RowsOf{a, rows}, Words(3, 1)), InvalidArgument) << "row 2 of 2";
  EXPECT_THROW((void)multiply(RowsOf{a, rows}, Words(2, 1)), InvalidArgument);
  EXPECT_THROW((void)multiply_transposed(a, Words(3, 1)), InvalidArgument);
  EXPECT_THROW((void)stacked(a, Words(2, 2)), InvalidArgument);
  EXPECT_THROW((void)Words::from_bytes(2, 3, a.bytes().first(8)), InvalidArgument);
  EXPECT_THROW((void)to_words(ShareMatrix(1, 1, 0, 32)), InvalidArgument);
}

TEST(Words, StandForNumbersWith13BitsBehindThePoint) {
  const std::vector<double> numbers = {0, 1, -1.5, 1.0 / 8192, -100.25, 3.0 / 16384};
  const Words m = encode(2, 3, numbers);
  EXPECT_EQ(m.values()[1], 8192U);
  const std::vector<double> back = decode(m);
  for (std::size_t i = 0; i + 1 < numbers.size(); ++i) EXPECT_EQ(back[i], numbers[i]);
  EXPECT_EQ(back[5], 2.0 / 8192) << "halves away from zero";
  EXPECT_THROW((void)encode(1, 1, std::vector{std::nan("")}), DataError);
  EXPECT_THROW((void)encode(1, 1, std::vector{0x1p33}), DataError);
  EXPECT_THROW((void)encode(1, 2, std::vector{1.0}), InvalidArgument);
  EXPECT_EQ(to_words(to_shares(m, 13)), m);
  EXPECT_EQ(transpose(transpose(m)), m);
}

TEST(Words, AreSplitIntoSharesThatAreUniformEach) {
  Random random;
  const Words m = encode(40, 40, std::vector<double>(1600, 0.5));
  const auto [a, b] = split(m, random);
  EXPECT_EQ(a + b, m);
  EXPECT_TRUE(testing::looks_uniform<std::uint64_t>(a.values()));
  EXPECT_TRUE(testing::looks_uniform<std::uint64_t>(b.values()));
  EXPECT_FALSE(testing::looks_uniform<std::uint64_t>(m.values()));
}

TEST(Truncation, RoundsToANeighbourAndIsRightInTheMean) {
  Random random;
  for (const double number : {3.3, -3.3, 0.0, -0.001, 250.7}) {
    for (const int bits : {1, 13, 23}) {
      const auto value = static_cast<std::int64_t>(std::llround(std::ldexp(number, 26)));
      Words m(1, 4000);
      for (std::uint64_t& v : m.values()) v = static_cast<std::uint64_t>(value);
      const auto [a, b] = split(m, random);
      const Words cut = truncated(a, bits, Party::kA) + truncated(b, bits, Party::kB);
      const double exact = std::ldexp(static_cast<double>(value), -bits);
      double sum = 0;
      for (const std::uint64_t v : cut.values()) {
        const auto got = static_cast<double>(static_cast<std::int64_t>(v));
        EXPECT_LE(std::abs(got - exact), 1) << number << ", " << bits << " bits";
        sum += got;
      }
      EXPECT_NEAR(sum / 4000, exact, 0.05) << number << ", " << bits << " bits";
    }
  }
  EXPECT_THROW((void)truncated(Words(1, 1), 64, Party::kA), InvalidArgument);
}

TEST(Truncation, FailsAsOftenAsNumbersAreLong) {
  // Of 54 bits: a share wraps beyond the number with a chance of 2^(54 - 64), and 2^14 of them are cut.
  Random random;
  Words m(1, 1 << 14);
  for (std::uint64_t& v : m.values()) v = std::uint64_t{1} << 54;
  const auto [a, b] = split(m, random);
  const Words cut = truncated(a, 13, Party::kA) + truncated(b, 13, Party::kB);
  double failed = 0;
  for (const std::uint64_t v : cut.values()) {
    if (v - (std::uint64_t{1} << 41) + 1 > 2) failed += 1;
  }
  EXPECT_NEAR(failed, 16, 5 * 4) << "five standard deviations";
  EXPECT_GT(failed, 0);
}

}  // namespace
}  // namespace blindfl::lab::secureml::words_test
