#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "blindfl/base/random.h"
#include "blindfl/he/paillier/scalar_products.h"
#include "he/paillier/mpz_ring.h"

// Matrices of exponents, ways to multiply by them, and a check of what comes out.

namespace blindfl::he::paillier::testing {

/// A prime of 256 bits, so that everything has an inverse.
inline BigInt some_modulus() {
  SeededRandom random(17);
  BigInt m;
  for (int i = 0; i < 4; ++i) {
    mpz_mul_2exp(m, m, 64);
    mpz_add_ui(m, m, random.next_u64() | (i == 0 ? std::uint64_t{1} << 63 : 0));
  }
  mpz_nextprime(m, m);
  return m;
}

using Value = std::function<std::int64_t(SeededRandom&)>;

/// Never 0.
inline Value uniform(int bits, bool negative) {
  return [=](SeededRandom& random) {
    const auto x = static_cast<std::int64_t>(random.next_u64() >> (64 - bits) | 1 << random.below(3));
    return negative && random.below(2) == 1 ? -x : x;
  };
}

inline Scalars dense(std::size_t rows, std::size_t bases, const Value& value) {
  SeededRandom random(rows * 1000 + bases);
  Scalars scalars{{0}, {}, bases};
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::uint32_t base = 0; base < bases; ++base) scalars.entries.push_back({base, value(random)});
    scalars.row_starts.push_back(scalars.entries.size());
  }
  return scalars;
}

/// `per_row` entries in each row, at any bases, now and then at the same.
inline Scalars sparse(std::size_t rows, std::size_t bases, std::size_t per_row, const Value& value) {
  SeededRandom random(rows * 1000 + bases);
  Scalars scalars{{0}, {}, bases};
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t i = 0; i < per_row; ++i) {
      scalars.entries.push_back({static_cast<std::uint32_t>(random.below(bases)), value(random)});
    }
    scalars.row_starts.push_back(scalars.entries.size());
  }
  return scalars;
}

/// Rows without entries are left out.
inline Scalars transpose(const Scalars& scalars) {
  std::vector<std::vector<Scalars::Entry>> rows(scalars.bases);
  for (std::size_t r = 0; r < scalars.rows(); ++r) {
    for (const auto& entry : scalars.row(r)) {
      rows[entry.base].push_back({static_cast<std::uint32_t>(r), entry.exponent});
    }
  }
  Scalars result{{0}, {}, scalars.rows()};
  for (const auto& row : rows) {
    if (row.empty()) continue;
    result.entries.insert(result.entries.end(), row.begin(), row.end());
    result.row_starts.push_back(result.entries.size());
  }
  return result;
}

inline Scalars with_empty_rows(const Scalars& scalars) {
  Scalars result{{0, 0}, {}, scalars.bases};
  for (std::size_t r = 0; r < scalars.rows(); ++r) {
    const auto row = scalars.row(r);
    result.entries.insert(result.entries.end(), row.begin(), row.end());
    result.row_starts.push_back(result.entries.size());
    if (r % 3 == 0) result.row_starts.push_back(result.entries.size());
  }
  result.entries.push_back({0, 0});
  result.row_starts.push_back(result.entries.size());
  return result;
}

inline std::int64_t one(SeededRandom& /*random*/) {
  return 1;
}

inline std::int64_t integer_or_real(SeededRandom& random) {
  const auto x = static_cast<std::int64_t>(random.below(9)) + 1;
  return random.below(2) == 0 ? x << 16 : x * 7001 - 20000;
}

inline std::vector<std::optional<ScalarChoice>> all_choices() {
  std::vector<std::optional<ScalarChoice>> choices{std::nullopt, ScalarChoice{ScalarMethod::kChains}};
  for (const bool inverses : {false, true}) {
    for (const int size : {1, 3, 8}) {
      choices.emplace_back(ScalarChoice{ScalarMethod::kTables, size, false, false, inverses});
      choices.emplace_back(ScalarChoice{ScalarMethod::kTables, size, true, false, inverses});
      choices.emplace_back(ScalarChoice{ScalarMethod::kTables, size, false, true, inverses});
    }
  }
  for (const int size : {1, 3, 8, 12}) choices.emplace_back(ScalarChoice{ScalarMethod::kBuckets, size});
  return choices;
}

/// Bases and outputs in a ring, and what should come out.
class Multiplication {
 public:
  Multiplication(const Scalars& scalars, std::size_t groups, std::size_t lanes = 8)
      : scalars_(scalars),
        groups_(groups),
        ring_(some_modulus(), lanes),
        bases_(ring_, scalars.bases * groups),
        outputs_(ring_, scalars.rows() * groups) {
    for (std::size_t i = 0; i < bases_.count(); ++i) base_pointers_.push_back(bases_[i]);
    for (std::size_t i = 0; i < outputs_.count(); ++i) output_pointers_.push_back(outputs_[i]);
  }
  [[nodiscard]] MpzRing& ring() { return ring_; }

  /// Units without any structure, and expected values by one power for each entry.
  void use_any_bases() {
    SeededRandom random(5);
    const BigInt square = ring_.modulus() * ring_.modulus();
    for (std::size_t i = 0; i < bases_.count(); ++i) {
      BigInt x = static_cast<std::int64_t>(random.next_u64() >> 1);
      for (int k = 0; k < 16; ++k) x = (x * x + BigInt(static_cast<std::int64_t>(random.next_u64() >> 1))) % square;
      ring_.write(bases_[i], x);
    }
    for (std::size_t r = 0; r < scalars_.rows(); ++r) {
      for (std::size_t g = 0; g < groups_; ++g) {
        BigInt product = 1;
        for (const auto& [base, exponent] : scalars_.row(r)) {
          product = product * power(ring_.read(bases_[base * groups_ + g]), exponent, square) % square;
        }
        expected_.push_back(product);
      }
    }
  }

  /// Powers of 1 + m, whose products are sums: quick to check, however many there are.
  void use_powers_of_one_plus_m() {
    SeededRandom random(6);
    const BigInt& m = ring_.modulus();
    std::vector<BigInt> logs;
    for (std::size_t i = 0; i < bases_.count(); ++i) {
      logs.emplace_back(static_cast<std::int64_t>(random.next_u64() >> 1));
      ring_.write(bases_[i], logs.back() * m + BigInt(1));
    }
    for (std::size_t r = 0; r < scalars_.rows(); ++r) {
      for (std::size_t g = 0; g < groups_; ++g) {
        BigInt sum;
        for (const auto& [base, exponent] : scalars_.row(r)) sum = sum + logs[base * groups_ + g] * BigInt(exponent);
        expected_.push_back(sum % m * m + BigInt(1));
      }
    }
  }

  void run(bool accumulate, std::size_t threads, const std::optional<ScalarChoice>& forced) {
    for (std::size_t i = 0; i < outputs_.count(); ++i) ring_.write(outputs_[i], static_cast<std::int64_t>(i) + 3);
    ring_.reset_counts();
    ThreadPool pool(threads);
    multiply_scalars(ring_, scalars_, base_pointers_.data(), groups_, output_pointers_.data(), accumulate, pool,
                     forced);
    const BigInt square = ring_.modulus() * ring_.modulus();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < outputs_.count(); ++i) {
      const BigInt before = accumulate ? static_cast<std::int64_t>(i) + 3 : 1;
      wrong += ring_.read(outputs_[i]) == expected_[i] * before % square ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0U);
  }

 private:
  const Scalars& scalars_;
  std::size_t groups_;
  MpzRing ring_;
  Rows bases_;
  Rows outputs_;
  std::vector<const Limb*> base_pointers_;
  std::vector<Limb*> output_pointers_;
  std::vector<BigInt> expected_;
};

inline std::string describe(const ScalarChoice& choice) {
  const char* names[] = {"tables", "buckets", "chains"};
  return std::string(names[static_cast<int>(choice.method)]) + " " + std::to_string(choice.size) +
         (choice.balanced ? " balanced" : "") + (choice.combs ? " combs" : "") + (choice.inverses ? " inverses" : "");
}

}  // namespace blindfl::he::paillier::testing
