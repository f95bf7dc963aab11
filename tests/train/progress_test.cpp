#include "blindfl/train/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace blindfl::train::progress_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string shown(bool terminal, std::optional<double> loss) {
  std::ostringstream out;
  Progress progress(out, terminal);
  StepReport report;
  report.epochs = 2;
  report.steps = 20;
  for (report.step = 1; report.step <= 20; ++report.step) {
    report.epoch = report.step <= 10 ? 1 : 2;
    report.rows = 128;
    report.loss = loss;
    progress.show(report);
  }
  return out.str();
}

TEST(Progress, WritesOnePlainLinePerEpochWithoutATerminal) {
  const std::string text = shown(false, 0.25);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_THAT(text, HasSubstr("epoch 1/2  loss 0.2500"));
  EXPECT_THAT(text, HasSubstr("epoch 2/2  loss 0.2500"));
  EXPECT_THAT(text, HasSubstr("rows/s"));
  EXPECT_THAT(text, HasSubstr(" left\n"));
  EXPECT_THAT(text, Not(HasSubstr("\r")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(Progress, RewritesOneLineOnATerminal) {
  const std::string text = shown(true, 0.25);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_THAT(text, HasSubstr("\r"));
}

TEST(Progress, ShowsNoLossWhereThereIsNone) {
  EXPECT_THAT(shown(false, std::nullopt), Not(HasSubstr("loss")));
}

}  // namespace
}  // namespace blindfl::train::progress_test
