#include "blindfl/run/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>

#include "blindfl/base/checked_file.h"
#include "blindfl/base/error.h"
#include "testing/scratch_folder.h"

namespace blindfl::run::run_folder_test {
namespace {

using blindfl::testing::content_of;
using blindfl::testing::mode_of;
using blindfl::testing::ScratchFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

RunSummary summary_of(Party party, const std::string& run = "credit") {
  return {.party = party, .run = run, .started = std::chrono::sys_seconds(std::chrono::seconds(1794753005))};
}

class RunFolderTest : public ::testing::Test {
 protected:
  const ScratchFolder scratch_;
  const std::filesystem::path path_ = scratch_ / "run";
};

TEST_F(RunFolderTest, HasAPlaceForEverythingForItsOwnerAlone) {
  RunFolder folder = RunFolder::create(path_, summary_of(Party::kA));
  folder.write_report("<html/>");
  EXPECT_EQ(mode_of(path_), 0700U);
  for (const auto& inside : {folder.events_path(), folder.model_path(), path_ / "checkpoints"}) {
    EXPECT_EQ(mode_of(inside), 0700U) << inside;
  }
  for (const auto& file : {folder.summary_path(), folder.report_path(), path_ / "run.lock"}) {
    EXPECT_EQ(mode_of(file), 0600U) << file;
  }
  EXPECT_EQ(content_of(folder.report_path()), "<html/>");
  EXPECT_EQ(content_of(folder.summary_path()), summary_text(summary_of(Party::kA)));
  EXPECT_EQ(folder.owner(), "party A of run credit");
  EXPECT_EQ(folder.checkpoint_path(120), path_ / "checkpoints" / "step-000000000120.ckpt");
}

TEST_F(RunFolderTest, IsNeverPutOverSomethingElse) {
  { const RunFolder folder = RunFolder::create(path_, summary_of(Party::kB)); }
  const std::string before = content_of(path_ / "summary.json");
  EXPECT_THAT([&] { (void)RunFolder::create(path_, summary_of(Party::kB, "another")); },
              ThrowsMessage<ConfigError>(AllOf(StartsWith(path_.string()), HasSubstr("nothing is overwritten"))));
  EXPECT_EQ(content_of(path_ / "summary.json"), before);

  std::filesystem::create_directory(scratch_ / "full");
  (void)scratch_.write("full/thesis.tex", "");
  EXPECT_THROW((void)RunFolder::create(scratch_ / "full", summary_of(Party::kB)), ConfigError);
  const auto file = scratch_.write("file", "");
  EXPECT_THAT([&] { (void)RunFolder::create(file, summary_of(Party::kB)); },
              ThrowsMessage<ConfigError>(HasSubstr("is not a folder")));
  EXPECT_THAT([&] { (void)RunFolder::create(scratch_ / "no" / "where", summary_of(Party::kB)); },
              ThrowsMessage<ConfigError>(HasSubstr("check that the folder above it exists")));
}

TEST_F(RunFolderTest, TakesAnEmptyFolderAndClosesItToOthers) {
  std::filesystem::create_directory(path_);
  std::filesystem::permissions(path_, std::filesystem::perms::all);
  { const RunFolder folder = RunFolder::create(path_, summary_of(Party::kB)); }
  EXPECT_EQ(mode_of(path_), 0700U);
}

TEST_F(RunFolderTest, IsNotMadeForASummaryThatCannotBeWritten) {
  RunSummary summary = summary_of(Party::kA);
  summary.results = {{"auc", 0.5}};
  EXPECT_THROW((void)RunFolder::create(path_, summary), InvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(RunFolderTest, IsUsedByOneProcessAtATime) {
  std::optional<RunFolder> folder = RunFolder::create(path_, summary_of(Party::kB));
  const std::string mine = "another process, number " + std::to_string(getpid()) + ", uses";
  EXPECT_THAT([&] { (void)RunFolder::reopen(path_, Party::kB, "credit"); },
              ThrowsMessage<ConfigError>(HasSubstr(mine)));
  EXPECT_THAT([&] { (void)RunFolder::create(path_, summary_of(Party::kB)); },
              ThrowsMessage<ConfigError>(HasSubstr(mine)));
  const pid_t child = fork();
  if (child == 0) {
    try {
      (void)RunFolder::reopen(path_, Party::kB, "credit");
    } catch (const ConfigError&) {
      _exit(7);
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  folder.reset();
  EXPECT_NO_THROW((void)RunFolder::reopen(path_, Party::kB, "credit"));
}

TEST_F(RunFolderTest, IsFreeAgainWhenItsProcessIsKilled) {
  const pid_t child = fork();
  if (child == 0) {
    const RunFolder folder = RunFolder::create(path_, summary_of(Party::kB));
    if (folder.path() != path_) _exit(1);
    (void)scratch_.write("run/.summary.json.999-0.blindfl-part", "half");
    (void)scratch_.write("run/checkpoints/.step-000000000120.ckpt.999-1.blindfl-part", "half");
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  const RunFolder folder = RunFolder::reopen(path_, Party::kB, "credit");
  EXPECT_EQ(folder.summary().state, RunState::kRunning);
  EXPECT_FALSE(std::filesystem::exists(path_ / ".summary.json.999-0.blindfl-part"));
  EXPECT_TRUE(std::filesystem::is_empty(path_ / "checkpoints"));
}

TEST_F(RunFolderTest, IsReopenedByItsOwnRunOnly) {
  { const RunFolder folder = RunFolder::create(path_, summary_of(Party::kB)); }
  EXPECT_THAT(
      [&] { (void)RunFolder::reopen(path_, Party::kA, "credit"); },
      ThrowsMessage<ConfigError>(HasSubstr("belongs to party B of run credit, and not to party A of run credit")));
  EXPECT_THROW((void)RunFolder::reopen(path_, Party::kB, "other"), ConfigError);
  EXPECT_THAT([&] { (void)RunFolder::reopen(scratch_ / "nowhere", Party::kB, "credit"); },
              ThrowsMessage<ConfigError>(HasSubstr("holds no run")));
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "nowhere"));
  (void)scratch_.write("run/summary.json", "{\"format\":");
  EXPECT_THAT([&] { (void)RunFolder::reopen(path_, Party::kB, "credit"); },
              ThrowsMessage<DataError>(StartsWith((path_ / "summary.json").string())));
}

TEST_F(RunFolderTest, RemembersItsSummary) {
  RunFolder folder = RunFolder::create(path_, summary_of(Party::kB));
  RunSummary summary = folder.summary();
  summary.state = RunState::kInterrupted;
  summary.steps = 12;
  summary.results = {{"auc", 0.5}};
  folder.write_summary(summary);
  EXPECT_EQ(content_of(folder.summary_path()), summary_text(summary));
  summary.run = "other";
  EXPECT_THROW(folder.write_summary(summary), InvalidArgument);
  EXPECT_EQ(folder.summary().run, "credit");
}

TEST_F(RunFolderTest, FindsCheckpointsTheNewestFirst) {
  const RunFolder folder = RunFolder::create(path_, summary_of(Party::kB));
  EXPECT_TRUE(folder.checkpoints().empty());
  const std::string owner = folder.owner();
  const FileLabel label{.kind = "checkpoint", .version = 1, .owner = owner};
  for (const std::uint64_t step : {90U, 1'000'000'000U, 120U}) {
    write_atomically(folder.checkpoint_path(step), label, as_bytes("x"));
  }
  write_atomically(folder.checkpoint_path(5'000'000'000'000), label, as_bytes("x"));
  for (const char* name : {"step-.ckpt", "step-1x.ckpt", "step--1.ckpt", "other", "step-000000000001.ckpt.bak"}) {
    (void)scratch_.write(std::string("run/checkpoints/") + name, "");
  }
  std::vector<std::uint64_t> steps;
  for (const SavedStep& saved : folder.checkpoints()) {
    steps.push_back(saved.step);
    EXPECT_EQ(saved.path, folder.checkpoint_path(saved.step));
    EXPECT_EQ(read_checked(saved.path, label).bytes.size(), 1U);
  }
  EXPECT_THAT(steps, ElementsAre(5'000'000'000'000, 1'000'000'000, 120, 90));
}

TEST_F(RunFolderTest, NamesALedgerForEachProcess) {
  const RunFolder folder = RunFolder::create(path_, summary_of(Party::kB));
  EXPECT_EQ(folder.new_ledger_path(), path_ / "transcript.ledger");
  (void)scratch_.write("run/transcript.ledger", "");
  EXPECT_EQ(folder.new_ledger_path(), path_ / "transcript-2.ledger");
  (void)scratch_.write("run/transcript-2.ledger", "");
  EXPECT_EQ(folder.new_ledger_path(), path_ / "transcript-3.ledger");
}

}  // namespace
}  // namespace blindfl::run::run_folder_test
