// A row's score is rounded anew each time under a shared top, so A counts people, whatever file they are in.

#include "blindfl/app/torch/scored_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "blindfl/base/error.h"
#include "testing/scratch_folder.h"
#include "testing/thrown.h"

namespace blindfl::app::scored_rows_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kOwner = "party A, run r";

class ScoredRows : public ::testing::Test {
 protected:
  void count(const std::vector<std::string>& ids, std::uint64_t most = 1, const std::string& model = "m") const {
    count_scored_rows(folder_.path(), kOwner, model, ids, most);
  }
  [[nodiscard]] std::string refusal(const std::vector<std::string>& ids, std::uint64_t most = 1) const {
    return blindfl::testing::message_of<ConfigError>([&] { count(ids, most); });
  }
  blindfl::testing::ScratchFolder folder_;
};

TEST_F(ScoredRows, AreScoredOnceWhateverFileTheyAreIn) {
  count({"ann", "bob", "eve"});
  EXPECT_THAT(refusal({"dan", "bob", "eve"}),
              AllOf(HasSubstr("2 of the 3 rows have been scored 1 time with this model"),
                    HasSubstr("private.limits.scorings is 1, whatever file"), Not(HasSubstr("bob"))));
  count({"dan"});  // what was refused was not counted
  EXPECT_THAT(refusal({"dan"}), HasSubstr("1 of the 1 rows"));
}

TEST_F(ScoredRows, AreCountedByModelAndUpToTheLimit) {
  count({"ann"});
  count({"ann"}, 1, "another");
  count({"ann"}, 3);
  count({"ann"}, 3);
  EXPECT_THAT(refusal({"ann"}, 3), HasSubstr("have been scored 3 times with this model"));
  // Neither name can be taken for a part of the other.
  count({"m:x"}, 1, "1");
  EXPECT_NO_THROW(count({"x"}, 1, "1:m"));
}

TEST_F(ScoredRows, ThatAreDamagedOrAnothersAreRefused) {
  count({"ann"});
  EXPECT_THROW(count_scored_rows(folder_.path(), "party A, run s", "m", {"bob"}, 1), DataError);
  const auto path = folder_ / "scorings_by_id.bin";
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  EXPECT_THROW(count({"bob"}), DataError);
}

TEST(ScoredIds, AreThoseOfRealPlaces) {
  const protocol::Alignment alignment{.rows = {2, 0, 1}, .real = {true, true, false}};
  EXPECT_THAT(scored_ids(alignment, {"ann", "bob", "eve"}), ElementsAre("eve", "ann"));
  EXPECT_THAT(scored_ids(alignment, {}), IsEmpty()) << "rows without ids are counted by file";
}

}  // namespace
}  // namespace blindfl::app::scored_rows_test
