#include <gtest/gtest.h>

#include "blindfl/he/paillier/bucket_products.h"
#include "blindfl/he/paillier/chain_products.h"
#include "blindfl/he/paillier/table_products.h"
#include "he/paillier/scalar_matrices.h"

namespace blindfl::he::paillier::testing::scalar_cost_test {
namespace {

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
  Scalars skewed = real;  // half of the entries at one in a hundred of the bases
  for (std::size_t i = 0; i < skewed.entries.size(); i += 2) skewed.entries[i].base %= 310;
  return {{"Binary62", sparse(128, 62, 7, one), 1},
          {"Binary63", sparse(128, 63, 21, one), 1},
          {"Dense14", tall, 1},
          {"Dense14Transposed", transpose(tall), 1},
          {"Dense392", wide, 1},
          {"Dense392InFourGroups", wide, 4},
          {"Dense392Transposed", transpose(wide), 1},
          {"Sparse31000", real, 2},
          {"Sparse31000Transposed", transpose(real), 1},
          {"Skewed31000Transposed", transpose(skewed), 1},
          {"Mixed", sparse(128, 60, 30, integer_or_real), 1}};
}

class ScalarCost : public ::testing::TestWithParam<Shape> {
 protected:
  ScalarCost() { multiplication_.use_powers_of_one_plus_m(); }

  /// Runs, compares what it took with what was predicted, and returns what it took.
  double check(const ScalarChoice& predicted, double tolerance) {
    SCOPED_TRACE(describe(predicted));
    multiplication_.run(false, 1, predicted);
    ScalarChoice counted = predicted;
    counted.products = multiplication_.ring().products();
    counted.squarings = multiplication_.ring().squarings();
    EXPECT_NEAR(counted.cost(), predicted.cost(), tolerance * counted.cost());
    return counted.cost();
  }

  const Scalars& scalars_ = GetParam().scalars;
  std::size_t groups_ = GetParam().groups;
  Multiplication multiplication_{scalars_, groups_};
};

TEST_P(ScalarCost, IsPredictedAndTheChosenMethodsIsTheLeast) {
  const double chosen = check(choose(scalars_, groups_), 0.05);
  if (groups_ > 1 || scalars_.entries.size() > 10000) return;  // that much for the chosen one alone
  for (const auto& choice : all_choices()) {
    if (!choice) continue;
    double taken = 0;
    if (choice->method == ScalarMethod::kTables) {
      taken = check(TablePlan(scalars_, groups_, *choice).choice(), 0);
    } else if (choice->method == ScalarMethod::kBuckets) {
      taken = check(estimate_buckets(scalars_, BucketPlan(scalars_), groups_, choice->size), 0.1);
    } else {
      taken = check(estimate_chains(scalars_, groups_), 0.1);
    }
    EXPECT_GT(1.1 * taken, chosen) << describe(*choice);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ScalarCost, ::testing::ValuesIn(shapes()),
                         [](const auto& info) { return info.param.name; });

TEST(ScalarCounts, OneProductForAnEntryOfABinaryMatrixAndNothingElse) {
  const Scalars scalars = with_empty_rows(sparse(128, 62, 7, one));
  Multiplication multiplication(scalars, 3);
  multiplication.use_powers_of_one_plus_m();
  multiplication.run(false, 1, ScalarChoice{});
  EXPECT_EQ(multiplication.ring().products(), 3 * (128 * 7 - 128U));
  EXPECT_EQ(multiplication.ring().squarings(), 0U);
}

TEST(ScalarCounts, IntegersAtAScaleTakeTheSquaringsOfTheScaleOnceForARow) {
  const Scalars scalars = sparse(50, 20, 9, [](auto& /*random*/) { return std::int64_t{1} << 16; });
  Multiplication multiplication(scalars, 2);
  multiplication.use_powers_of_one_plus_m();
  multiplication.run(false, 1, ScalarChoice{});
  EXPECT_EQ(multiplication.ring().products(), 2 * (50 * 9 - 50U));
  EXPECT_EQ(multiplication.ring().squarings(), 2 * 50 * 16U);
}

TEST(ScalarCounts, AccumulatingTakesOneProductForEachOutputWithEntries) {
  const Scalars scalars = with_empty_rows(sparse(20, 30, 6, uniform(16, false)));
  for (const auto& choice : all_choices()) {
    Multiplication multiplication(scalars, 3);
    multiplication.use_powers_of_one_plus_m();
    multiplication.run(false, 1, choice);
    const std::size_t without = multiplication.ring().products();
    multiplication.run(true, 1, choice);
    EXPECT_EQ(multiplication.ring().products(), without + 60) << (choice ? describe(*choice) : "chosen");
  }
}

}  // namespace
}  // namespace blindfl::he::paillier::testing::scalar_cost_test
