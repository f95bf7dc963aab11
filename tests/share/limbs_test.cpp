#include "blindfl/share/limbs.h"

#include <gtest/gtest.h>

#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/share/products.h"

namespace blindfl::limbs_test {
namespace {

UInt128 power(int bits) {
  return static_cast<UInt128>(1) << bits;
}

/// Values of up to `bits` bits, the edges among them.
ShareMatrix wide_values(int bits, Random& random) {
  ShareMatrix x = random_share(5, 3, 20, random);
  for (UInt128& v : x.values()) v = static_cast<UInt128>(static_cast<Int128>(v) >> (127 - bits));
  x.values()[0] = power(bits);
  x.values()[1] = 0 - power(bits);
  x.values()[2] = power(bits) - 1;
  x.values()[3] = 0;
  x.values()[4] = ~static_cast<UInt128>(0);
  return x;
}

TEST(Limbs, ProductOfLimbsIsTheProductModulo2To128) {
  Random random;
  for (const int bits : {12, 61, 87, 100, 126}) {
    for (const std::size_t count : {2U, 3U, 5U}) {
      if ((bits + 1) / static_cast<int>(count) > 61) continue;
      const Limbs limbs = Limbs::of(bits, count);
      const ShareMatrix x = wide_values(bits, random);
      const ShareMatrix m = random_share(3, 4, 7, random);
      const ShareMatrix product = multiply(split_columns(limbs, x), stack_rows(limbs, m));
      ASSERT_EQ(product.rows(), 5U);
      ASSERT_EQ(product.cols(), 4U);
      EXPECT_EQ(product.scale(), 27);
      for (std::size_t r = 0; r < 5; ++r) {
        for (std::size_t c = 0; c < 4; ++c) {
          UInt128 sum = 0;
          for (std::size_t i = 0; i < 3; ++i) sum += x.row(r)[i] * m.row(i)[c];
          EXPECT_TRUE(product.row(r)[c] == sum) << bits << " bits in " << count << " limbs";
        }
      }
    }
  }
}

TEST(Limbs, AreNoLongerThanTheySay) {
  Random random;
  const Limbs limbs = Limbs::of(87, 3);
  EXPECT_EQ(limbs.bits, 30);
  const IntMatrix split = split_columns(limbs, wide_values(87, random));
  EXPECT_EQ(split.bound(), std::uint64_t{1} << 29);
  for (const std::int64_t v : split.to_dense()) EXPECT_LE(static_cast<std::uint64_t>(std::abs(v)), split.bound());
}

TEST(Limbs, ANumberTooLongIsRefused) {
  ShareMatrix x(1, 1, 0);
  x.values()[0] = power(90);
  EXPECT_THROW((void)split_columns(Limbs::of(80, 2), x), InvalidArgument);
  EXPECT_THROW((void)Limbs::of(126, 2), InvalidArgument);
  EXPECT_THROW((void)Limbs::of(80, 0), InvalidArgument);
}

}  // namespace
}  // namespace blindfl::limbs_test
