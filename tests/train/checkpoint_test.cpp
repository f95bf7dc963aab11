#include "blindfl/train/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "testing/scratch_folder.h"

namespace blindfl::train::checkpoint_test {
namespace {

using ::testing::ElementsAre;

class SupersededCheckpoints : public ::testing::Test {
 protected:
  void write(std::uint64_t step) {
    std::ofstream(folder_.checkpoint_path(step)) << "checkpoint " << step;
    // Files of one moment would have no order.
    std::filesystem::last_write_time(folder_.checkpoint_path(step), next_ += std::chrono::seconds(1));
  }
  [[nodiscard]] std::set<std::string> superseded() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(scratch_ / "run/checkpoints/superseded")) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }
  [[nodiscard]] std::vector<std::uint64_t> steps() const {
    std::vector<std::uint64_t> all;
    for (const run::SavedStep& saved : folder_.checkpoints()) all.push_back(saved.step);
    return all;
  }

  testing::ScratchFolder scratch_;
  std::filesystem::file_time_type next_ = std::filesystem::file_time_type::clock::now();
  run::RunFolder folder_ = run::RunFolder::create(scratch_ / "run", {.party = Party::kA, .run = "r"});
};

TEST_F(SupersededCheckpoints, AreKeptAsideAndNotRemoved) {
  for (const std::uint64_t step : {10, 20, 30, 40}) write(step);
  supersede_checkpoints_after(folder_, 20, 5);
  EXPECT_THAT(steps(), ElementsAre(20, 10));
  EXPECT_THAT(superseded(), ElementsAre("step-000000000030.ckpt", "step-000000000040.ckpt"));
  EXPECT_EQ(testing::content_of(scratch_ / "run/checkpoints/superseded/step-000000000030.ckpt"), "checkpoint 30");
  EXPECT_EQ(testing::mode_of(scratch_ / "run/checkpoints/superseded"), 0700U);
}

TEST_F(SupersededCheckpoints, StayWhereOneResumeMovedThemAndLaterAsManyAsTheRunKeeps) {
  for (const std::uint64_t step : {10, 20, 30, 40}) write(step);
  supersede_checkpoints_after(folder_, 10, 2);
  EXPECT_THAT(superseded(), ElementsAre("step-000000000020.ckpt", "step-000000000030.ckpt", "step-000000000040.ckpt"));
  write(15);
  supersede_checkpoints_after(folder_, 10, 2);
  EXPECT_THAT(superseded(), ElementsAre("step-000000000015.ckpt", "step-000000000040.ckpt"));
}

TEST_F(SupersededCheckpoints, LeaveNoFolderWhereThereAreNone) {
  write(10);
  supersede_checkpoints_after(folder_, 10, 2);
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "run/checkpoints/superseded"));
}

}  // namespace
}  // namespace blindfl::train::checkpoint_test
