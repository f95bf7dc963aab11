#include "blindfl/he/paillier/scalar_products.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "blindfl/base/error.h"
#include "he/paillier/mpz_ring.h"
#include "he/paillier/scalar_matrices.h"

namespace blindfl::he::paillier::testing::scalar_products_test {
namespace {

struct Case {
  const char* name;
  Scalars scalars;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

/// At the edge of what an exponent may be, or just below it.
std::int64_t largest(SeededRandom& random) {
  const std::int64_t x = (std::int64_t{1} << 62) - static_cast<std::int64_t>(random.below(2));
  return random.below(2) == 0 ? x : -x;
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

class ScalarProducts : public ::testing::TestWithParam<Case> {};

TEST_P(ScalarProducts, AreTheProductsOfPowersByEveryMethod) {
  for (const std::size_t groups : {1, 3, 4}) {
    Multiplication multiplication(GetParam().scalars, groups, groups == 3 ? 1 : 8);
    multiplication.use_any_bases();
    for (const auto& choice : all_choices()) {
      for (const bool accumulate : {false, true}) {
        const std::size_t threads = accumulate == (groups == 3) ? 1 : 2;
        SCOPED_TRACE((choice ? describe(*choice) : "chosen") + ", groups " + std::to_string(groups) + ", threads " +
                     std::to_string(threads) + (accumulate ? ", accumulating" : ""));
        multiplication.run(accumulate, threads, choice);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ScalarProducts, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

TEST(ScalarErrors, MalformedScalarsAreRefused) {
  EXPECT_THROW((void)choose({{}, {}, 1}, 1), InvalidArgument);
  EXPECT_THROW((void)choose({{0, 2}, {{0, 1}}, 1}, 1), InvalidArgument);
  EXPECT_THROW((void)choose({{0, 2, 1}, {{0, 1}}, 1}, 1), InvalidArgument);
  EXPECT_THROW((void)choose({{0, 1}, {{1, 1}}, 1}, 1), InvalidArgument);
  EXPECT_THROW((void)choose({{0, 1}, {{0, (std::int64_t{1} << 62) + 1}}, 1}, 1), InvalidArgument);
  EXPECT_THROW((void)choose({{0, 1}, {{0, std::numeric_limits<std::int64_t>::min()}}, 1}, 1), InvalidArgument);
  EXPECT_NO_THROW((void)choose({{0, 1}, {{0, std::int64_t{1} << 62}}, 1}, 1));
  EXPECT_NO_THROW((void)choose({{0, 1}, {{0, -(std::int64_t{1} << 62)}}, 1}, 1));
}

TEST(ScalarErrors, DividingByWhatHasNoInverseIsRefused) {
  const MpzRing ring(some_modulus());
  Rows rows(ring, 2);
  ring.write(rows[0], ring.modulus());
  const Limb* base = rows[0];
  Limb* output = rows[1];
  ThreadPool pool;
  for (const auto& choice : all_choices()) {
    EXPECT_THROW(multiply_scalars(ring, {{0, 1}, {{0, -5}}, 1}, &base, 1, &output, false, pool, choice),
                 InvalidArgument);
  }
}

TEST(ScalarKernels, EveryMethodOnEveryKernelGivesTheSame) {
  const Scalars scalars = dense(33, 21, uniform(16, true));
  for (const auto kernels : available_kernels()) {
    const auto ring = make_ring(some_modulus() * some_modulus(), kernels);
    Rows rows(*ring, 21 + 33);
    std::vector<const Limb*> bases;
    std::vector<Limb*> outputs;
    for (std::int64_t i = 0; i < 21; ++i) {
      ring->write(rows[bases.size()], BigInt(i + 2));
      bases.push_back(rows[bases.size()]);
    }
    for (std::size_t i = 0; i < 33; ++i) outputs.push_back(rows[21 + i]);
    ThreadPool pool(2);
    for (const auto& choice : all_choices()) {
      SCOPED_TRACE(std::string(kernels) + ", " + (choice ? describe(*choice) : "chosen"));
      multiply_scalars(*ring, scalars, bases.data(), 1, outputs.data(), false, pool, choice);
      std::size_t wrong = 0;
      const BigInt square = ring->modulus() * ring->modulus();
      for (std::size_t r = 0; r < 33; ++r) {
        BigInt product = 1;
        for (const auto& [base, exponent] : scalars.row(r)) {
          product = product * power(BigInt(std::int64_t{base} + 2), exponent, square) % square;
        }
        wrong += ring->read(outputs[r]) == product ? 0 : 1;
      }
      EXPECT_EQ(wrong, 0U);
    }
  }
}

}  // namespace
}  // namespace blindfl::he::paillier::testing::scalar_products_test
