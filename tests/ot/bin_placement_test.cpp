// How likely a batch finds no bins: the figures of docs/protocols.md, "Tables by oblivious transfer", by computing
// them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "blindfl/ot/tables/plan.h"
#include "blindfl/ot/tables/seeds.h"

namespace blindfl::ot::bin_placement_test {
namespace {

/// Binary logarithm of a bound on the chance that as many different categories as there are look-ups have no bins. By
/// Hall's theorem some s of them then have at most s - 1 bins among all permutations: summed over all s categories, and
/// over all choices of s - 1 bins, k of a permutation of which hold no more categories than the k fullest.
double log2_of_failure(std::size_t lookups, std::size_t categories) {
  const std::size_t each = TablePlan({lookups, categories, 1}, TableWay::kBins).bins_each();
  static_assert(BinLayout::kPermutations == 4);
  std::vector<long double> all_inside(each + 1, 1);  // of s categories, in k bins
  std::vector<long double> of_one(each + 1);         // times the ways to choose these
  long double chosen = 1;
  long double sum = 0;
  for (std::size_t s = 1; s <= std::min(lookups, categories); ++s) {
    chosen *= static_cast<long double>(lookups - s + 1) / static_cast<long double>(s);
    long double bins = 1;
    for (std::size_t k = 1; k <= each; ++k) {
      bins *= static_cast<long double>(each - k + 1) / static_cast<long double>(k);
      const std::size_t held = k * (categories / each) + std::min(k, categories % each);
      all_inside[k] *=
          held < s ? 0 : static_cast<long double>(held - s + 1) / static_cast<long double>(categories - s + 1);
      of_one[k] = bins * all_inside[k];
    }
    const std::size_t few = s - 1;
    std::vector<long double> of_two(few + 1);
    for (std::size_t a = 1; a <= std::min(each, few); ++a) {
      for (std::size_t b = 1; b <= std::min(each, few - a); ++b) of_two[a + b] += of_one[a] * of_one[b];
    }
    for (std::size_t k = 0; k <= few; ++k) sum += chosen * of_two[k] * of_two[few - k];
  }
  return static_cast<double>(std::log2(sum));
}

constexpr std::size_t kHuge = TablePlan::kMostRows;

TEST(BinPlacement, ABatchFindsItsBinsButForTheChanceThatIsDocumented) {
  const double worst = log2_of_failure(128, kHuge);
  EXPECT_LT(worst, -61.3);
  EXPECT_GT(worst, -61.5) << "the documents may say less";
  EXPECT_LT(log2_of_failure(64, kHuge), -66.4);
  EXPECT_LT(log2_of_failure(256, kHuge), -72.3);
  EXPECT_LT(log2_of_failure(128, 300), -68);
  EXPECT_LT(log2_of_failure(128, 1000), -64);
}

TEST(BinPlacement, NoOtherBatchAndNoOtherTableIsWorse) {
  const double worst = log2_of_failure(128, kHuge);
  // With as many bins, fewer look-ups have fewer sets that could fail; these are the most of each number of bins.
  for (const std::size_t lookups : {1, 8, 64, 127, 149, 170, 192, 213, 234, 256, 320, 512}) {
    EXPECT_LE(log2_of_failure(lookups, kHuge), worst) << lookups;
  }
  for (std::size_t categories = 193; categories < 3000; categories += 13) {
    EXPECT_LE(log2_of_failure(128, categories), worst) << categories;
  }
  for (const std::size_t categories : {10'000, 99'999, 1'000'000}) {
    EXPECT_LE(log2_of_failure(128, categories), worst) << categories;
  }
}

TEST(BinPlacement, ARunOfManyTablesAndPassesStaysBelowTheBudgetOfARun) {
  constexpr double kTables = 20;
  constexpr double kPasses = 100'000;
  EXPECT_LT(log2_of_failure(128, kHuge) + std::log2(kTables * kPasses), -40);
}

}  // namespace
}  // namespace blindfl::ot::bin_placement_test
