#include "blindfl/he/paillier/scalar_products.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "blindfl/base/error.h"
#include "blindfl/he/paillier/bucket_products.h"
#include "blindfl/he/paillier/chain_products.h"
#include "blindfl/he/paillier/table_products.h"
#include "he/paillier/mpz_ring.h"
#include "testing/label.h"

namespace blindfl::he::paillier {
namespace {

using testing::MpzRing;

/// A prime of 128 bits, so that everything has an inverse, and is quick.
BigInt some_modulus() {
  SeededRandom random(17);
  BigInt m;
  for (int i = 0; i < 2; ++i) {
    mpz_mul_2exp(m, m, 64);
    mpz_add_ui(m, m, random.next_u64() | (i == 0 ? std::uint64_t{1} << 63 : 0));
  }
  mpz_nextprime(m, m);
  return m;
}

using Value = std::function<std::int64_t(SeededRandom&)>;

Value uniform(int bits, bool negative) {
  return [=](SeededRandom& random) {
    const auto x = static_cast<std::int64_t>(random.next_u64() >> (64 - bits));
    return negative && random.below(2) == 1 ? -x : x;
  };
}

Scalars dense(std::size_t rows, std::size_t bases, const Value& value) {
  SeededRandom random(rows * 1000 + bases);
  Scalars scalars{{0}, {}, bases};
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::uint32_t base = 0; base < bases; ++base) scalars.entries.push_back({base, value(random)});
    scalars.row_starts.push_back(scalars.entries.size());
  }
  return scalars;
}

/// `per_row` entries in each row, at any bases, now and then at the same.
Scalars sparse(std::size_t rows, std::size_t bases, std::size_t per_row, const Value& value) {
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
Scalars transpose(const Scalars& scalars) {
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

Scalars with_empty_rows(const Scalars& scalars) {
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

std::int64_t one(SeededRandom& /*random*/) {
  return 1;
}

/// At the edge of what an exponent may be, or just below it.
std::int64_t largest(SeededRandom& random) {
  const std::int64_t x = (std::int64_t{1} << 62) - static_cast<std::int64_t>(random.below(2));
  return random.below(2) == 0 ? x : -x;
}

std::int64_t integer_or_real(SeededRandom& random) {
  const auto x = static_cast<std::int64_t>(random.below(9));
  return random.below(2) == 0 ? x << 16 : x * 7001 - 20000;
}

struct Case {
  const char* name;
  Scalars scalars;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

std::vector<Case> cases() {
  return {{"Binary", sparse(24, 30, 7, one)},
          {"Signs", sparse(24, 30, 7, [](auto& random) { return random.below(2) == 0 ? 1 : -1; })},
          {"SmallIntegers", dense(20, 9, [](auto& random) { return static_cast<std::int64_t>(random.below(12)); })},
          {"SmallSigned", dense(9, 20, uniform(5, true))},
          {"Scaled", sparse(17, 10, 6, [](auto& /*random*/) { return std::int64_t{1} << 16; })},
          {"Dense16", dense(33, 7, uniform(16, true))},
          {"Dense16Positive", dense(7, 33, uniform(16, false))},
          {"Negative", dense(5, 8, [](auto& random) { return -static_cast<std::int64_t>(random.below(900)); })},
          {"SparseReal", sparse(19, 1000, 12, uniform(16, true))},
          {"Mixed", sparse(21, 16, 9, integer_or_real)},
          {"OneRow", dense(1, 300, uniform(12, true))},
          {"OneEntry", dense(1, 1, [](auto& /*random*/) { return -77777; })},
          {"OneColumn", dense(40, 1, uniform(16, true))},
          {"EmptyRows", with_empty_rows(sparse(8, 20, 5, uniform(10, true)))},
          {"NothingButZeros", dense(3, 4, [](auto& /*random*/) { return 0; })},
          {"NoBases", Scalars{{0, 0, 0}, {}, 0}},
          {"Repeated", sparse(12, 3, 10, uniform(62, true))},
          {"Wide", sparse(6, 9, 5, uniform(62, true))},
          {"WidestRepeated", sparse(5, 1, 6, [](auto& /*random*/) { return -((std::int64_t{1} << 62) - 1); })},
          {"Largest", sparse(7, 5, 4, largest)}};
}

ScalarChoice tables(int size, bool balanced, bool inverses) {
  return {ScalarMethod::kTables, size, balanced, inverses};
}

std::vector<std::optional<ScalarChoice>> all_choices() {
  std::vector<std::optional<ScalarChoice>> choices{std::nullopt, ScalarChoice{ScalarMethod::kChains}};
  const bool full = blindfl::testing::kFull;
  for (const int size : full ? std::vector{1, 2, 5, 8} : std::vector{1, 5}) {
    for (const bool balanced : {false, true}) {
      for (const bool inverses : {false, true}) choices.emplace_back(tables(size, balanced, inverses));
    }
  }
  for (const int size : full ? std::vector{1, 3, 8, 12} : std::vector{3, 12})
    choices.emplace_back(ScalarChoice{ScalarMethod::kBuckets, size});
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

std::string describe(const ScalarChoice& choice) {
  const char* names[] = {"tables", "buckets", "chains"};
  return std::string(names[static_cast<int>(choice.method)]) + " " + std::to_string(choice.size) +
         (choice.balanced ? " balanced" : "") + (choice.inverses ? " inverses" : "");
}

class ScalarProducts : public ::testing::TestWithParam<Case> {};

TEST_P(ScalarProducts, AreTheProductsOfPowersByEveryMethod) {
  for (const std::size_t groups : blindfl::testing::kFull ? std::vector{1, 3, 4} : std::vector{1, 3}) {
    Multiplication multiplication(GetParam().scalars, groups, groups == 3 ? 1 : 8);
    multiplication.use_any_bases();
    for (const auto& choice : all_choices()) {
      for (const bool accumulate : {false, true}) {
        for (const std::size_t threads : {1, 2}) {
          // In the quick tests one thread or two, in turn.
          if (!blindfl::testing::kFull && (groups / 2 + (accumulate ? 1 : 0)) % 2 != threads % 2) continue;
          SCOPED_TRACE((choice ? describe(*choice) : "chosen") + ", groups " + std::to_string(groups) + ", threads " +
                       std::to_string(threads) + (accumulate ? ", accumulating" : ""));
          multiplication.run(accumulate, threads, choice);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ScalarProducts, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

TEST(Scalars, ThatAreMalformedAreRefused) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 62;
  EXPECT_NO_THROW((void)choose({{0, 1}, {{0, kLargest}}, 1}, 1));
  EXPECT_NO_THROW((void)choose({{0, 1}, {{0, -kLargest}}, 1}, 1));
  const std::vector<Scalars> malformed{{{0, 1}, {{0, kLargest + 1}}, 1},
                                       {{0, 1}, {{0, -kLargest - 1}}, 1},
                                       {{0, 1}, {{0, std::numeric_limits<std::int64_t>::min()}}, 1},
                                       {{0, 1}, {{1, 1}}, 1},  // no such base
                                       {{}, {}, 1},            // no rows, not even none
                                       {{1, 1}, {{0, 1}}, 1},  // an entry before the first row
                                       {{0, 2}, {{0, 1}}, 1},  // rows beyond the entries
                                       {{0, 1, 0, 1}, {{0, 1}}, 1}};
  for (const Scalars& scalars : malformed) EXPECT_THROW((void)choose(scalars, 1), InvalidArgument);
}

struct Shape {
  const char* name;
  Scalars scalars;
  std::size_t groups;
};

void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.name;
}

/// What a batch of 128 asks for: forward, and back with the transpose.
std::vector<Shape> shapes() {
  const Scalars tall = dense(128, 14, uniform(16, true));
  const Scalars wide = dense(128, 392, uniform(16, true));
  const Scalars real = sparse(128, 31000, 40, uniform(16, false));
  return {{"Binary62", sparse(128, 62, 7, one), 1},      {"Dense14", tall, 1},
          {"Dense14Transposed", transpose(tall), 1},     {"Dense392", wide, 4},
          {"Dense392Transposed", transpose(wide), 1},    {"Sparse31000", real, 2},
          {"Sparse31000Transposed", transpose(real), 2}, {"Mixed", sparse(128, 60, 30, integer_or_real), 1}};
}

class ScalarCost : public ::testing::TestWithParam<Shape> {
 protected:
  /// Runs, and compares what it took with what was predicted.
  static void check(Multiplication& multiplication, const ScalarChoice& predicted, double tolerance) {
    SCOPED_TRACE(describe(predicted));
    multiplication.run(false, 1, predicted);
    const auto near = [&](std::size_t counted, std::size_t expected) {
      EXPECT_NEAR(static_cast<double>(counted), static_cast<double>(expected),
                  tolerance * static_cast<double>(counted));
    };
    near(multiplication.ring().products(), predicted.products);
    near(multiplication.ring().squarings(), predicted.squarings);
  }
};

TEST_P(ScalarCost, IsWhatWasPredictedAndTheChosenOneIsTheLeast) {
  const auto& [name, scalars, groups] = GetParam();
  Multiplication multiplication(scalars, groups);
  multiplication.use_powers_of_one_plus_m();
  const ScalarChoice chosen = choose(scalars, groups);
  check(multiplication, chosen, 0.05);
  std::cout << name << ": " << describe(chosen) << ", per entry "
            << static_cast<double>(multiplication.ring().products()) /
                   static_cast<double>(scalars.entries.size() * groups)
            << " products, "
            << static_cast<double>(multiplication.ring().squarings()) /
                   static_cast<double>(scalars.entries.size() * groups)
            << " squarings\n";
}

INSTANTIATE_TEST_SUITE_P(Shapes, ScalarCost, ::testing::ValuesIn(shapes()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace blindfl::he::paillier
