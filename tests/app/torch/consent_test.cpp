// A is asked before it meets anybody.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "blindfl/app/plan/open_top.h"
#include "blindfl/app/torch/training_run.h"
#include "testing/scratch_folder.h"

namespace blindfl::app::consent_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Training, AtADoesNotMeetThePeerUnlessAnOpenTopIsAccepted) {
  const testing::ScratchFolder folder;
  (void)folder.write("a.csv", "x,y\n1,0\n0,1\n1,1\n");
  job::Job job;
  job.shared.model.top = protocol::Top::kOpen;
  job.shared.alignment.mode = job::AlignmentMode::kAligned;
  job.own.data.train = folder / "a.csv";
  job.own.data.format = prepare::FileFormat::kCsv;
  job.own.data.columns = {{.name = "x", .kind = data::ColumnKind::kNumeric},
                          {.name = "y", .kind = data::ColumnKind::kNumeric}};
  job.own.link = {.dial = "127.0.0.1:1", .patience = 1, .plaintext = true};
  job.own.run.folder = folder / "run";
  for (const auto start : {TrainingTask::Start::kNew, TrainingTask::Start::kResume}) {
    std::ostringstream out;
    EXPECT_THROW(run_training({.job = job, .start = start, .resume = {}, .out = out}), ConsentError);
    EXPECT_THAT(out.str(), Not(HasSubstr("dialling")));
    EXPECT_FALSE(std::filesystem::exists(folder / "run"));
  }
  job.own.accept = job::Acceptance::kOpenTop;
  std::ostringstream out;
  EXPECT_THROW(run_training({.job = job, .start = TrainingTask::Start::kNew, .resume = {}, .out = out}),
               TransportError);
  EXPECT_THAT(out.str(), HasSubstr("dialling"));
}

}  // namespace
}  // namespace blindfl::app::consent_test
