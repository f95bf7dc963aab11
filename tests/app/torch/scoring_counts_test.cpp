#include "blindfl/app/torch/scoring_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "blindfl/app/job/own.h"
#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "testing/scratch_folder.h"
#include "testing/thrown.h"

namespace blindfl::app::scoring_counts_test {
namespace {

using blindfl::testing::message_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kOwner = "party A of run r";

class Scorings : public ::testing::Test {
 protected:
  std::uint64_t count(const std::string& model, const std::string& file, std::uint64_t most = 16) {
    return count_scoring(folder_.path(), kOwner, model, digest_of(file), {.most = most});
  }
  testing::ScratchFolder folder_;
};

TEST_F(Scorings, AreCountedForEachModelAndFile) {
  EXPECT_TRUE(read_scorings(folder_.path(), kOwner).empty());
  EXPECT_EQ(count("r-10", "march"), 1U);
  EXPECT_EQ(count("r-10", "march"), 2U);
  EXPECT_EQ(count("r-10", "april"), 1U);
  EXPECT_EQ(count("r-20", "march"), 1U);
  const std::vector<ScoringCount> counts = read_scorings(folder_.path(), kOwner);
  ASSERT_EQ(counts.size(), 3U);
  EXPECT_EQ(counts[0].model, "r-10");
  EXPECT_EQ(counts[0].digest, digest_of("march"));
  EXPECT_EQ(counts[0].count, 2U);
  EXPECT_EQ(testing::mode_of(folder_ / "scorings.bin"), 0600U);
}

TEST_F(Scorings, EndAtTheLimit) {
  EXPECT_EQ(count("r-10", "march", 2), 1U);
  EXPECT_EQ(count("r-10", "march", 2), 2U);
  const auto refused =
      AllOf(HasSubstr("has been scored 2 times with this model"), HasSubstr("private.limits.scorings is 2"));
  EXPECT_THAT(message_of<ConfigError>([&] { (void)count("r-10", "march", 2); }), refused);
  EXPECT_THAT(
      message_of<ConfigError>([&] { check_scorings(folder_.path(), kOwner, "r-10", digest_of("march"), {.most = 2}); }),
      refused);
  EXPECT_NO_THROW(check_scorings(folder_.path(), kOwner, "r-10", digest_of("april"), {.most = 2}));
  EXPECT_EQ(count("r-10", "march", 3), 3U) << "what was refused was not counted";
  EXPECT_THROW((void)count("r-10", "may", 0), ConfigError);
}

TEST_F(Scorings, ThatRoundAnewEndAfterTheFirstUnlessTheJobSaysOtherwise) {
  job::Model model;
  job::Limits limits;
  model.top = protocol::Top::kOpen;
  EXPECT_EQ(limits.scorings_of(model), 16U);
  model.top = protocol::Top::kShared;
  EXPECT_EQ(limits.scorings_of(model), 1U);
  const auto score = [&] {
    return count_scoring(folder_.path(), kOwner, "r-10", digest_of("march"),
                         {.most = limits.scorings_of(model), .repeats = Repeats::kRoundedAnew});
  };
  EXPECT_EQ(score(), 1U);
  EXPECT_THAT(message_of<ConfigError>(score),
              AllOf(HasSubstr("scored 1 time with this model, and private.limits.scorings is 1"),
                    HasSubstr("each scoring rounds the scores anew"), HasSubstr("once per model")));
  limits.scorings = 2;
  EXPECT_EQ(score(), 2U);
}

TEST_F(Scorings, AtTheSameTimeAreAllCounted) {
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { (void)count("r-10", "march"); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(read_scorings(folder_.path(), kOwner).at(0).count, 8U);
}

TEST_F(Scorings, ThatWereChangedOrAreAnothersAreRefused) {
  (void)count("r-10", "march");
  EXPECT_THROW((void)read_scorings(folder_.path(), "party A of run s"), DataError);
  const std::string content = testing::content_of(folder_ / "scorings.bin");
  for (std::size_t i = 0; i < content.size(); i += 5) {
    std::string changed = content;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    (void)folder_.write("scorings.bin", changed);
    EXPECT_THROW((void)count("r-10", "march"), DataError) << i;
    (void)folder_.write("scorings.bin", content.substr(0, i));
    EXPECT_THROW((void)count("r-10", "march"), DataError) << i;
  }
}

}  // namespace
}  // namespace blindfl::app::scoring_counts_test
