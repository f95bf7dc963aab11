#include "blindfl/run/confusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blindfl/base/error.h"

namespace blindfl::run::confusion_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Values = std::vector<double>;

TEST(ConfusionMatrix, CountsRowsByTruthAndPrediction) {
  // Rows of 0, 0, 1, 2; taken for 0, 1, 1, 1.
  const Values scores = {9, 0, 0, 0, 9, 0, 0, 9, 0, 0, 9, 0};
  const ConfusionMatrix matrix = confusion_matrix(scores, Values{0, 0, 1, 2}, {"x", "y", "z"});
  EXPECT_THAT(matrix.counts, ElementsAre(1, 1, 0, 0, 1, 0, 0, 1, 0));
  EXPECT_EQ(matrix.true_rows(0), 2);
  EXPECT_EQ(matrix.predicted_rows(1), 3);
  EXPECT_EQ(matrix.recall(0), 0.5);
  EXPECT_NEAR(matrix.precision(1), 1.0 / 3, 1e-15);
  EXPECT_EQ(matrix.precision(2), 0) << "nothing is taken for it";
  const ConfusionMatrix weighted =
      confusion_matrix(scores, Values{0, 0, 1, 2}, {"x", "y", "z"}, 0.5, Values{3, 1, 1, 0});
  EXPECT_EQ(weighted.recall(0), 0.75);
}

TEST(ConfusionMatrix, OfTwoClassesGoesByTheThreshold) {
  const ConfusionMatrix matrix = confusion_matrix(Values{0.2, 0.6, 0.5, 0.9}, Values{0, 0, 1, 1}, {"no", "yes"});
  EXPECT_THAT(matrix.counts, ElementsAre(1, 1, 1, 1));
}

TEST(ConfusionMatrix, IsRefusedWhereShapesDiffer) {
  EXPECT_THROW((void)confusion_matrix(Values{1, 2, 3}, Values{0, 1, 2}, {"x", "y", "z"}), InvalidArgument);
  EXPECT_THROW((void)confusion_matrix(Values{1, 2}, Values{0, 2}, {"x", "y"}), InvalidArgument);
  EXPECT_THROW((void)confusion_matrix(Values{1, 2}, Values{0, 1}, {"x", "y"}, 0.5, Values{1}), InvalidArgument);
}

TEST(ConfusionMatrix, HasALineForEachClass) {
  const std::string text = confusion_text(confusion_matrix(Values{0.2, 0.6}, Values{0, 0}, {"no", "a very long name"}));
  EXPECT_THAT(text, HasSubstr("precision  recall  taken for"));
  EXPECT_THAT(text, HasSubstr("no                     2     1.0000  0.5000"));
  EXPECT_THAT(text, HasSubstr("\na very lon..           0     0.0000  0.0000"));
}

}  // namespace
}  // namespace blindfl::run::confusion_test
