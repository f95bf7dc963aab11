#include "blindfl/protocol/layers/sgd_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "blindfl/base/error.h"
#include "testing/thrown.h"

namespace blindfl::protocol::sgd_plan_test {
namespace {

using ::testing::HasSubstr;

TEST(SgdPlan, KnowsTheLearningRateOfEveryStep) {
  const SgdPlan plan({.learning_rate = 0.1, .schedule = {{3, 0.4}, {5, 0.02}}, .steps = 8});
  const std::vector<double> expected{0.1, 0.1, 0.1, 0.4, 0.4, 0.02, 0.02, 0.02};
  for (std::size_t step = 0; step < expected.size(); ++step) EXPECT_EQ(plan.learning_rate_at(step), expected[step]);
  EXPECT_EQ(plan.largest_learning_rate(), 0.4);
}

TEST(SgdPlan, WithoutAScheduleHasOneLearningRateForAnyNumberOfSteps) {
  const SgdPlan plan({.learning_rate = 0.1});
  EXPECT_EQ(plan.learning_rate_at(0), 0.1);
  EXPECT_EQ(plan.learning_rate_at(1000000), 0.1);
  EXPECT_EQ(plan.largest_learning_rate(), 0.1);
}

TEST(SgdPlan, RefusesAStepBeyondTheDeclaredOnes) {
  const SgdPlan plan({.steps = 8});
  EXPECT_NO_THROW((void)plan.learning_rate_at(7));
  EXPECT_THAT(testing::message_of<InvalidArgument>([&] { (void)plan.learning_rate_at(8); }),
              HasSubstr("8 steps were declared"));
}

TEST(SgdPlan, RefusesOptionsOutOfRangeSayingWhatToDo) {
  const struct {
    SgdOptions options;
    const char* says;
  } cases[] = {
      {{.learning_rate = -0.1}, "the learning rate must be"},
      {{.learning_rate = std::nan("")}, "the learning rate must be"},
      {{.learning_rate = 1e7}, "the learning rate must be"},
      {{.momentum = 1}, "momentum must be"},
      {{.momentum = -0.5}, "momentum must be"},
      {{.momentum = std::nan("")}, "momentum must be"},
      {{.weight_decay = -1}, "weight decay must be"},
      {{.weight_decay = 1e4}, "weight decay must be"},
      {{.schedule = {{0, 0.1}}}, "Give that rate as learning_rate"},
      {{.schedule = {{5, 0.1}, {3, 0.1}}}, "change at step 3 does not come after the one at step 5"},
      {{.schedule = {{5, 0.1}, {5, 0.2}}}, "Sort the changes"},
      {{.schedule = {{5, 0.1}, {7, -0.2}}}, "from step 7 on must be"},
      {{.schedule = {{5, std::nan("")}}}, "from step 5 on must be"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(testing::message_of<InvalidArgument>([&] { const SgdPlan plan(c.options); }), HasSubstr(c.says));
  }
}

TEST(SgdPlan, SettingsTellSchedulesApart) {
  const SgdOptions mine{.schedule = {{10, 0.1}, {20, 0.25}}, .steps = 30};
  EXPECT_EQ(Settings::differences(mine.settings(), mine.settings()), "");
  SgdOptions theirs = mine;
  theirs.schedule[1].learning_rate = 0.5;
  EXPECT_EQ(Settings::differences(mine.settings(), theirs.settings()),
            "learning_rate from step 20 is 0.25 here and 0.5 at the peer");
  theirs = mine;
  theirs.schedule[1].step = 21;
  theirs.steps = 31;
  EXPECT_EQ(Settings::differences(mine.settings(), theirs.settings()),
            "steps is 30 here and 31 at the peer; learning_rate from step 20 is 0.25 here and missing at the peer; "
            "learning_rate from step 21 is missing here and 0.25 at the peer");
}

}  // namespace
}  // namespace blindfl::protocol::sgd_plan_test
