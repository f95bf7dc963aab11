#include "blindfl/he/lattice/modulus.h"

#include <gtest/gtest.h>

#include <bit>

#include "blindfl/base/error.h"
#include "blindfl/base/int128.h"

namespace blindfl::he::lattice::modulus_test {
namespace {

TEST(Primes, AreTellableFromOtherNumbers) {
  for (const std::uint64_t p : {2ULL, 3ULL, 37ULL, 41ULL, 65537ULL, 281474976694273ULL, 18446744073709551557ULL}) {
    EXPECT_TRUE(is_prime(p)) << p;
  }
  // Carmichael numbers, a strong pseudoprime to the first bases, squares of primes.
  for (const std::uint64_t n :
       {0ULL, 1ULL, 561ULL, 41041ULL, 3215031751ULL, 3825123056546413051ULL, 1681ULL, 4295098369ULL}) {
    EXPECT_FALSE(is_prime(n)) << n;
  }
}

TEST(Primes, AreTheLargestOfTheirSizeThatTheRingTakes) {
  const auto primes = largest_primes(48, 3, 8192);
  ASSERT_EQ(primes.size(), 3U);
  EXPECT_GT(primes[0], primes[1]);
  EXPECT_GT(primes[1], primes[2]);
  std::size_t found = 0;
  for (std::uint64_t q = (std::uint64_t{1} << 48) + 1; q > primes[2]; q -= 16384)
    found += is_prime(q) && std::bit_width(q) == 48 ? 1 : 0;
  EXPECT_EQ(found, 2U) << "a larger prime was passed over";
  for (const std::uint64_t q : primes) {
    EXPECT_TRUE(is_prime(q));
    EXPECT_EQ(q % 16384, 1U);
    EXPECT_EQ(std::bit_width(q), 48);
  }
  EXPECT_THROW((void)largest_primes(20, 100, 8192), InvalidArgument);
  EXPECT_THROW((void)largest_primes(51, 1, 8192), InvalidArgument);
}

TEST(Modulus, RefusesWhatTheKernelsCannotTake) {
  const std::uint64_t good = largest_primes(50, 1, 8192)[0];
  EXPECT_NO_THROW(Modulus(good, 8192));
  const std::uint64_t too_large = 2251799813554177;  // 51 bits, 1 modulo 16384
  ASSERT_TRUE(is_prime(too_large) && too_large % 16384 == 1);
  EXPECT_THROW(Modulus(too_large, 8192), InvalidArgument);
  EXPECT_THROW(Modulus(good, 8191), InvalidArgument);
  EXPECT_THROW(Modulus(good, 32), InvalidArgument);
  EXPECT_THROW(Modulus(good, 65536), InvalidArgument);
  EXPECT_THROW(Modulus(good - 16384, 8192), InvalidArgument);
  EXPECT_THROW(Modulus(12289, 1024), InvalidArgument);  // a prime, too small
}

TEST(Modulus, RootsHaveTheRightOrderAndInverses) {
  const Modulus m(largest_primes(35, 1, 64)[0], 64);
  const std::uint64_t root = m.roots().value[32];  // exponent 1, reversed
  EXPECT_EQ(m.power(root, 64), m.value() - 1);
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(m.multiply(m.roots().value[i], m.inverse_roots().value[i]), 1U);
    EXPECT_EQ(m.roots().quotient64[i],
              static_cast<std::uint64_t>((static_cast<UInt128>(m.roots().value[i]) << 64) / m.value()));
  }
}

TEST(Modulus, DoesItsArithmetic) {
  const Modulus m(largest_primes(50, 1, 8192)[0], 8192);
  const std::uint64_t q = m.value();
  EXPECT_EQ(m.add(q - 1, 5), 4U);
  EXPECT_EQ(m.multiply(q - 1, q - 1), 1U);
  EXPECT_EQ(m.multiply(m.inverse(12345), 12345), 1U);
  EXPECT_EQ(m.to_montgomery(1), (std::uint64_t{1} << 52) % q);
  EXPECT_EQ((q * m.negated_inverse() + 1) & ((std::uint64_t{1} << 52) - 1), 0U);
}

}  // namespace
}  // namespace blindfl::he::lattice::modulus_test
