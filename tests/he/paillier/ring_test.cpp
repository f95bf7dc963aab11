// Every set of kernels against GMP's own arithmetic modulo m^2, and against each other.

#include "blindfl/he/paillier/ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "blindfl/base/error.h"
#include "testing/label.h"

namespace blindfl::he::paillier::ring_test {
namespace {

using Numbers = std::vector<BigInt>;

const BigInt kOne = 1;
const BigInt kTwo = 2;
constexpr std::size_t kSizes[] = {512, 1024, 1536, 2048, 3072};

/// Of n and of its factors: for keys of 1024 and 2048 bits, and in the full tests of 3072 bits.
std::vector<std::size_t> sizes() {
  if (blindfl::testing::kFull) return {std::begin(kSizes), std::end(kSizes)};
  return {512, 1024, 2048};
}

BigInt random_bits(std::size_t bits, SeededRandom& random) {
  std::vector<std::uint64_t> words((bits + 63) / 64);
  for (auto& w : words) w = random.next_u64();
  BigInt x = BigInt::from_bytes(std::as_bytes(std::span(words)));
  mpz_fdiv_r_2exp(x, x, bits);
  return x;
}

/// Moduli of that size: any, the largest, and the smallest that has one bit less.
Numbers moduli(std::size_t bits, SeededRandom& random) {
  BigInt any = random_bits(bits, random);
  mpz_setbit(any, bits - 1);
  mpz_setbit(any, 0);
  return {any, BigInt::power_of_two(bits) - kOne, BigInt::power_of_two(bits - 2) + kOne};
}

/// A ring, and the same arithmetic in plain numbers.
struct Case {
  Case(const BigInt& modulus, std::string_view kernels)
      : m(modulus), m_squared(modulus * modulus), ring(make_ring(modulus, kernels)) {}

  [[nodiscard]] Rows rows(const Numbers& numbers) const {
    Rows rows(*ring, numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) ring->write(rows[i], numbers[i]);
    return rows;
  }
  [[nodiscard]] BigInt times(const BigInt& a, const BigInt& b) const { return a * b % m_squared; }
  [[nodiscard]] Bytes bytes(const Rows& rows) const {
    Bytes out(rows.count() * ring->row_bytes());
    ring->to_bytes(rows[0], rows.count(), out.data());
    return out;
  }

  /// Numbers at the edges of what rows can hold, and some others: 21 in all.
  [[nodiscard]] Numbers numbers(SeededRandom& random) const {
    Numbers all = {0, 1, 2, m - kOne, m, m + kOne, m * kTwo - kOne, m * kTwo + kOne, m_squared - m, m_squared - kOne};
    // Limbs of ones, at the width of each kind of kernels.
    for (const std::size_t bits : {std::size_t{52}, std::size_t{64}, m.bits() / 52 * 52, m.bits() / 64 * 64 - 64}) {
      const BigInt ones = BigInt::power_of_two(bits) - kOne;
      all.push_back(ones % m);
      all.push_back(ones % m * m + ones % m);
    }
    while (all.size() < 21) all.push_back(random_bits(2 * m.bits() + 64, random) % m_squared);
    return all;
  }

  BigInt m;
  BigInt m_squared;
  std::shared_ptr<const Ring> ring;
};

class RingKernels : public ::testing::TestWithParam<std::tuple<std::string, std::size_t>> {
 protected:
  SeededRandom random_{7};

  [[nodiscard]] std::vector<Case> cases() {
    std::vector<Case> all;
    for (const BigInt& m : moduli(std::get<1>(GetParam()), random_)) all.emplace_back(m, std::get<0>(GetParam()));
    return all;
  }
};

TEST_P(RingKernels, NumbersComeBackAsTheyWereWritten) {
  for (const Case& c : cases()) {
    EXPECT_EQ(c.ring->kernels(), std::get<0>(GetParam()));
    EXPECT_EQ(c.ring->modulus(), c.m);
    EXPECT_EQ(c.ring->stride() % 8, 0U);
    EXPECT_EQ(c.ring->read(c.ring->one()), BigInt(1));
    for (const BigInt& x : c.numbers(random_)) {
      Rows row(*c.ring, 1);
      c.ring->write(row[0], x);
      EXPECT_EQ(c.ring->read(row[0]), x);
    }
  }
}

TEST_P(RingKernels, NumbersOutsideTheRingAreRefused) {
  for (const Case& c : cases()) {
    Rows row(*c.ring, 1);
    EXPECT_THROW(c.ring->write(row[0], c.m_squared), InvalidArgument);
    EXPECT_THROW(c.ring->write(row[0], -1), InvalidArgument);
    EXPECT_THROW(c.ring->write_digit(row[0], c.m), InvalidArgument);
    EXPECT_THROW(c.ring->write_digit(row[0], -1), InvalidArgument);
    EXPECT_THROW(c.ring->power({}, -1), InvalidArgument);
  }
}

TEST_P(RingKernels, ProductsAreThoseModuloTheSquare) {
  for (const Case& c : cases()) {
    const Numbers numbers = c.numbers(random_);
    const Rows rows = c.rows(numbers);
    Rows out(*c.ring, numbers.size() * numbers.size());
    std::vector<Ring::Product> products;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      for (std::size_t j = 0; j < numbers.size(); ++j) products.push_back({out[products.size()], rows[i], rows[j]});
    }
    c.ring->multiply(products);
    for (std::size_t k = 0; k < products.size(); ++k) {
      const std::size_t i = k / numbers.size();
      const std::size_t j = k % numbers.size();
      ASSERT_EQ(c.ring->read(out[k]), c.times(numbers[i], numbers[j])) << i << " times " << j;
    }
  }
}

TEST_P(RingKernels, AnyNumberOfProductsMayBeWrittenOverTheirFactors) {
  const Case c = cases()[0];
  const Numbers numbers = c.numbers(random_);
  for (std::size_t count = 0; count <= 17; ++count) {
    Rows left = c.rows(numbers);
    Rows right = c.rows(numbers);
    std::vector<Ring::Product> products;
    // In turn over the left one, the right one, and both.
    for (std::size_t i = 0; i < count; ++i) {
      products.push_back({i % 3 == 0 ? left[i] : right[i], i % 3 == 2 ? right[i] : left[i], right[i]});
    }
    c.ring->multiply(products);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const BigInt expected = i < count ? c.times(numbers[i], numbers[i]) : numbers[i];
      ASSERT_EQ(c.ring->read(i % 3 == 0 ? left[i] : right[i]), expected) << i << " of " << count;
      ASSERT_EQ(c.ring->read(i % 3 == 0 ? right[i] : left[i]), numbers[i]) << i << " of " << count;
    }
  }
}

TEST_P(RingKernels, SquaresRepeat) {
  for (const Case& c : cases()) {
    const Numbers numbers = c.numbers(random_);
    for (const std::size_t times : {0U, 1U, 2U, 11U}) {
      const Rows from = c.rows(numbers);
      Rows apart(*c.ring, numbers.size());
      Rows same = c.rows(numbers);
      std::vector<Ring::Row> entries;
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        entries.push_back({apart[i], from[i]});
        entries.push_back({same[i], same[i]});
      }
      c.ring->square(entries, times);
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const BigInt expected = power(numbers[i], BigInt::power_of_two(times), c.m_squared);
        ASSERT_EQ(c.ring->read(apart[i]), expected) << i;
        ASSERT_EQ(c.ring->read(same[i]), expected) << i;
      }
    }
  }
}

void check_chains(const Case& c, std::vector<std::size_t> lengths, SeededRandom& random) {
  Numbers numbers = c.numbers(random);
  // With two multiples of m among the factors, little would be left to compare.
  std::erase_if(numbers, [&](const BigInt& x) { return (x % c.m).sign() == 0; });
  const Rows table = c.rows(numbers);
  for (std::size_t i = lengths.size(); i > 1; --i) std::swap(lengths[i - 1], lengths[random.below(i)]);

  Rows out(*c.ring, lengths.size());
  std::vector<std::vector<const Limb*>> factors(lengths.size());
  std::vector<Ring::Chain> chains;
  Numbers expected;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    BigInt product = 1;
    for (std::size_t k = 0; k < lengths[i]; ++k) {
      const std::size_t j = random.below(numbers.size());
      factors[i].push_back(table[j]);
      product = c.times(product, numbers[j]);
    }
    // Every other chain is written over one of its own factors.
    if (i % 2 == 1 && lengths[i] > 0) {
      const std::size_t k = random.below(lengths[i]);
      std::copy_n(factors[i][k], c.ring->stride(), out[i]);
      factors[i][k] = out[i];
    }
    chains.push_back({out[i], factors[i].data(), lengths[i]});
    expected.push_back(product);
  }
  c.ring->multiply_chains(chains);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    ASSERT_EQ(c.ring->read(out[i]), expected[i]) << "chain of " << lengths[i];
  }
}

TEST_P(RingKernels, ChainsOfAnyLengthsAreTheProductsOfTheirFactors) {
  for (const Case& c : cases()) {
    std::vector<std::size_t> lengths;
    for (std::size_t n = 0; n <= 200; n += n < 20 ? 1 : 9) lengths.push_back(n);
    check_chains(c, lengths, random_);
    for (std::size_t n = 0; n < 35; ++n) check_chains(c, {n}, random_);
    check_chains(c, {}, random_);
  }
}

TEST_P(RingKernels, ALongChainAmongShortOnesIsTheProductOfItsFactors) {
  const Case c = cases()[0];
  for (const std::size_t other : {0U, 1U, 2U, 3U}) {
    std::vector<std::size_t> lengths(50, other);
    lengths[31] = 1291;
    check_chains(c, lengths, random_);
  }
}

TEST_P(RingKernels, PowersAreThoseModuloTheSquare) {
  for (const Case& c : cases()) {
    Numbers numbers = c.numbers(random_);
    numbers.erase(numbers.begin() + 10, numbers.end() - 1);
    Numbers exponents = {0, 1, 2, 30, 31, 32, 33, BigInt::power_of_two(20), BigInt::power_of_two(25) - kOne};
    exponents.push_back(random_bits(70, random_));
    exponents.push_back(random_bits(c.m.bits() < 1100 ? c.m.bits() : 200, random_));
    for (const BigInt& exponent : exponents) {
      Rows rows = c.rows(numbers);
      Rows apart(*c.ring, 1);
      std::vector<Ring::Row> entries = {{apart[0], rows[0]}};
      for (std::size_t i = 1; i < numbers.size(); ++i) entries.push_back({rows[i], rows[i]});
      c.ring->power(entries, exponent);
      EXPECT_EQ(c.ring->read(rows[0]), numbers[0]);
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        ASSERT_EQ(c.ring->read(entries[i].to), power(numbers[i], exponent, c.m_squared)) << i;
      }
    }
  }
}

TEST_P(RingKernels, PlaintextsAddUp) {
  for (const Case& c : cases()) {
    const Numbers numbers = c.numbers(random_);
    const std::size_t digit = c.ring->stride() / 2;
    AlignedVector<Limb> values(numbers.size() * digit);
    std::vector<Ring::Plaintext> entries;
    const Rows from = c.rows(numbers);
    Rows out(*c.ring, numbers.size());
    Numbers expected;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const BigInt value = i < 7 ? c.m - kOne : numbers[numbers.size() - 1 - i] % c.m;
      c.ring->write_digit(values.data() + i * digit, value);
      entries.push_back({out[i], from[i], values.data() + i * digit});
      expected.push_back(value * c.m + kOne);
    }
    c.ring->add_plaintext(entries);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      ASSERT_EQ(c.ring->read(out[i]), c.times(numbers[i], expected[i])) << i;
    }
    // Over and over in place: nothing grows out of its limbs.
    for (auto& entry : entries) entry.from = entry.to;
    for (int i = 0; i < 40; ++i) c.ring->add_plaintext(entries);
    std::vector<Ring::Product> products;
    for (std::size_t i = 0; i < numbers.size(); ++i) products.push_back({out[i], out[i], out[i]});
    c.ring->multiply(products);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const BigInt sum = c.times(numbers[i], power(expected[i], 41, c.m_squared));
      ASSERT_EQ(c.ring->read(out[i]), c.times(sum, sum)) << i;
    }
  }
}

TEST_P(RingKernels, BytesAreTheTwoDigits) {
  for (const Case& c : cases()) {
    const Numbers numbers = c.numbers(random_);
    const Rows rows = c.rows(numbers);
    const Bytes bytes = c.bytes(rows);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const ByteView row = ByteView(bytes).subspan(i * c.ring->row_bytes(), c.ring->row_bytes());
      EXPECT_EQ(BigInt::from_bytes(row.first(c.ring->digit_bytes())), numbers[i] % c.m);
      EXPECT_EQ(BigInt::from_bytes(row.subspan(c.ring->digit_bytes())), numbers[i] / c.m);
    }
    Rows again(*c.ring, numbers.size());
    ASSERT_TRUE(c.ring->from_bytes(again[0], numbers.size(), bytes.data()));
    for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(c.ring->read(again[i]), numbers[i]);
  }
}

TEST_P(RingKernels, BytesTellNothingOfHowARowWasComputed) {
  for (const Case& c : cases()) {
    const Numbers numbers = c.numbers(random_);
    const Rows rows = c.rows(numbers);
    Rows expected(*c.ring, numbers.size());
    Rows squared(*c.ring, numbers.size());
    Rows multiplied(*c.ring, numbers.size());
    Rows raised(*c.ring, numbers.size());
    Rows added(*c.ring, numbers.size());
    AlignedVector<Limb> zero(c.ring->stride() / 2);
    c.ring->write_digit(zero.data(), 0);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      c.ring->write(expected[i], power(numbers[i], 4, c.m_squared));
      const Limb* factors[] = {rows[i], c.ring->one(), rows[i], rows[i], rows[i]};
      c.ring->square(std::vector<Ring::Row>{{squared[i], rows[i]}}, 2);
      c.ring->multiply_chains(std::vector<Ring::Chain>{{multiplied[i], factors, 5}});
      c.ring->power(std::vector<Ring::Row>{{raised[i], rows[i]}}, 4);
      c.ring->add_plaintext(std::vector<Ring::Plaintext>{{added[i], squared[i], zero.data()}});
    }
    EXPECT_EQ(c.bytes(squared), c.bytes(expected));
    EXPECT_EQ(c.bytes(multiplied), c.bytes(expected));
    EXPECT_EQ(c.bytes(raised), c.bytes(expected));
    EXPECT_EQ(c.bytes(added), c.bytes(expected));
  }
}

TEST_P(RingKernels, DigitsThatAreNotBelowTheModulusAreRejected) {
  for (const Case& c : cases()) {
    const std::size_t digit = c.ring->digit_bytes();
    const BigInt largest = BigInt::power_of_two(8 * digit) - kOne;
    Rows rows(*c.ring, 9);
    for (const BigInt& bad : {c.m, largest}) {
      for (const std::size_t at : {0U, 1U, 7U, 17U}) {
        Bytes bytes(9 * c.ring->row_bytes());
        EXPECT_TRUE(c.ring->from_bytes(rows[0], 9, bytes.data()));
        bad.to_bytes(std::span(bytes).subspan(at * digit, digit));
        EXPECT_FALSE(c.ring->from_bytes(rows[0], 9, bytes.data()));
        (c.m - kOne).to_bytes(std::span(bytes).subspan(at * digit, digit));
        EXPECT_TRUE(c.ring->from_bytes(rows[0], 9, bytes.data()));
      }
    }
  }
}

TEST_P(RingKernels, ALongWalkStaysOnItsPath) {
  for (const Case& c : cases()) {
    Numbers numbers = c.numbers(random_);
    // Multiples of m would soon make everything 0.
    std::erase_if(numbers, [&](const BigInt& x) { return (x % c.m).sign() == 0; });
    Rows rows = c.rows(numbers);
    const std::size_t n = numbers.size();
    for (int step = 0; step < 60; ++step) {
      Rows out(*c.ring, n);
      Numbers next(n);
      if (step % 3 == 0) {
        std::vector<Ring::Row> entries;
        for (std::size_t i = 0; i < n; ++i) entries.push_back({out[i], rows[i]});
        c.ring->square(entries, 1);
        for (std::size_t i = 0; i < n; ++i) next[i] = c.times(numbers[i], numbers[i]);
      } else {
        std::vector<Ring::Product> entries;
        for (std::size_t i = 0; i < n; ++i) entries.push_back({out[i], rows[i], rows[(i + 1) % n]});
        c.ring->multiply(entries);
        for (std::size_t i = 0; i < n; ++i) next[i] = c.times(numbers[i], numbers[(i + 1) % n]);
      }
      numbers = std::move(next);
      rows = std::move(out);
    }
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_NE(numbers[i].sign(), 0);
      ASSERT_EQ(c.ring->read(rows[i]), numbers[i]) << i;
    }
  }
}

std::vector<std::string> names() {
  return {available_kernels().begin(), available_kernels().end()};
}

INSTANTIATE_TEST_SUITE_P(Kernels, RingKernels,
                         ::testing::Combine(::testing::ValuesIn(names()), ::testing::ValuesIn(sizes())),
                         [](const auto& info) {
                           return std::get<0>(info.param) + "_" + std::to_string(std::get<1>(info.param));
                         });

TEST(Ring, AllKernelsWriteTheSameBytes) {
  SeededRandom random(11);
  for (const std::size_t bits : kSizes) {
    const BigInt m = moduli(bits, random)[0];
    const Numbers numbers = Case(m, "portable").numbers(random);
    Bytes expected;
    for (const std::string_view kernels : available_kernels()) {
      const Case c(m, kernels);
      Rows rows = c.rows(numbers);
      std::vector<Ring::Product> products;
      for (std::size_t i = 0; i < numbers.size(); ++i) products.push_back({rows[i], rows[i], rows[i]});
      c.ring->multiply(products);
      if (expected.empty()) expected = c.bytes(rows);
      EXPECT_EQ(c.bytes(rows), expected) << kernels << " with " << bits << " bits";
    }
  }
}

TEST(Ring, WhatNoKernelsCanDoIsRefused) {
  const BigInt odd = BigInt::power_of_two(2048) - kOne;
  EXPECT_NO_THROW((void)make_ring(odd, "portable"));
  EXPECT_THROW((void)make_ring(odd, "abacus"), InvalidArgument);
  EXPECT_THROW((void)make_ring(odd - kOne, "portable"), InvalidArgument);
  EXPECT_THROW((void)make_ring(BigInt(0) - odd, "portable"), InvalidArgument);
  for (const std::size_t bits : {1U, 64U, 510U, 513U, 2046U, 2049U, 4096U}) {
    EXPECT_THROW((void)make_ring(BigInt::power_of_two(bits) - kOne, "portable"), InvalidArgument) << bits;
  }
}

}  // namespace
}  // namespace blindfl::he::paillier::ring_test
