#include "blindfl/train/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/base/random.h"

namespace blindfl::train::metrics_test {
namespace {

using Numbers = std::vector<double>;

TEST(Auc, IsOneForPerfectZeroForReversedAndAHalfForEqualScores) {
  const Numbers labels{0, 0, 1, 1};
  EXPECT_EQ(auc(Numbers{1, 2, 3, 4}, labels), 1.0);
  EXPECT_EQ(auc(Numbers{4, 3, 2, 1}, labels), 0.0);
  EXPECT_EQ(auc(Numbers{5, 5, 5, 5}, labels), 0.5);
  EXPECT_EQ(auc(Numbers{1, 3, 2, 4}, labels), 0.75);
  EXPECT_EQ(auc(Numbers{1, 2, 2, 4}, labels), 0.875);
}

TEST(Auc, EqualsTheDefinitionOverAllPairs) {
  SeededRandom random(4);
  Numbers scores;
  Numbers labels;
  for (int i = 0; i < 300; ++i) {
    scores.push_back(static_cast<double>(random.below(40)));  // many ties
    labels.push_back(static_cast<double>(random.below(2)));
  }
  double wins = 0;
  double pairs = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    for (std::size_t j = 0; j < scores.size(); ++j) {
      if (labels[i] != 1 || labels[j] != 0) continue;
      pairs += 1;
      wins += scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0;
    }
  }
  EXPECT_NEAR(auc(scores, labels), wins / pairs, 1e-12);
}

TEST(Auc, RefusesWhatHasNoAnswer) {
  EXPECT_THROW((void)auc(Numbers{1, 2}, Numbers{1, 1}), InvalidArgument);
  EXPECT_THROW((void)auc(Numbers{1, 2}, Numbers{1}), InvalidArgument);
  EXPECT_THROW((void)auc(Numbers{1, std::nan("")}, Numbers{0, 1}), InvalidArgument);
  EXPECT_THROW((void)auc(Numbers{}, Numbers{}), InvalidArgument);
}

TEST(Accuracy, CountsRowsWhoseHighestScoreIsTheLabels) {
  const Numbers scores{0.1, 0.9, 0.0, 5.0, 1.0, 2.0, -3.0, -2.0, -1.0};
  EXPECT_DOUBLE_EQ(accuracy(scores, 3, Numbers{1, 0, 2}), 1.0);
  EXPECT_DOUBLE_EQ(accuracy(scores, 3, Numbers{1, 1, 2}), 2.0 / 3);
  EXPECT_THROW((void)accuracy(scores, 2, Numbers{1, 1, 2}), InvalidArgument);
  EXPECT_THROW((void)accuracy(Numbers{}, 2, Numbers{}), InvalidArgument);
}

}  // namespace
}  // namespace blindfl::train::metrics_test
